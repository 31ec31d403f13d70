#include "net/connection.h"

#include <cstring>

#include "base/strings.h"

namespace cardea::net {
namespace {

IoResult read_result(std::ptrdiff_t got) {
  if (got > 0) return {Io::kDone, static_cast<std::size_t>(got)};
  if (got == 0) return {Io::kEnd, 0};
  return {got == Socket::kAgain ? Io::kWouldBlock : Io::kFailed, 0};
}

class PlainConnection final : public Connection {
 public:
  PlainConnection(Loop& loop, Socket socket) : Connection(loop, std::move(socket), false) {}

  Io handshake() override { return Io::kDone; }

  IoResult read(std::span<char> into) override {
    return read_result(socket_.receive(into.data(), into.size()));
  }

  IoResult write(std::span<const std::string_view> pieces) override {
    const auto sent = socket_.send(pieces);
    if (sent >= 0) return {Io::kDone, static_cast<std::size_t>(sent)};
    return {sent == Socket::kAgain ? Io::kWouldBlock : Io::kFailed, 0};
  }

  void shutdown() override { socket_.shutdown_write(); }
};

}  // namespace

Connection::Connection(Loop& loop, Socket socket, bool tls)
    : loop_(loop), socket_(std::move(socket)) {
  auto [address, port] = peer_of(socket_);
  auto peer = std::make_shared<Peer>();
  peer->address = std::move(address);
  peer->port = port;
  peer->tls = tls;
  peer_ = std::move(peer);
}

Connection::~Connection() {
  close();
}

Result<void> Connection::start(Owner& owner) {
  owner_ = &owner;
  return loop_.watch(socket_.fd(), *this);
}

void Connection::close() {
  owner_ = nullptr;
  if (!socket_.is_open()) return;
  loop_.forget(socket_.fd());
  socket_.close();
}

std::string Connection::failure() const {
  return lower(socket_.error() ? std::strerror(socket_.error()) : "connection closed");
}

void Connection::on_events(Events events) {
  if (!owner_) return;
  socket_.saw(events.readable, events.writable, events.peer_closed, events.broken);
  owner_->on_ready();
}

std::unique_ptr<Connection> make_plain_connection(Loop& loop, Socket socket) {
  return std::make_unique<PlainConnection>(loop, std::move(socket));
}

}  // namespace cardea::net
