#include <openssl/err.h>
#include <openssl/sslerr.h>

#include <algorithm>
#include <cstring>

#include "base/result.h"
#include "net/openssl.h"

namespace cardea::net {
namespace {

constexpr std::size_t kRecord = 16384;

// A BIO over our Socket rather than over the bare descriptor: no SIGPIPE, and no system call that
// would only say EAGAIN.
Socket& socket_of(BIO* bio) {
  return *static_cast<Socket*>(BIO_get_data(bio));
}

int bio_read(BIO* bio, char* into, int size) {
  BIO_clear_retry_flags(bio);
  const auto got = socket_of(bio).receive(into, static_cast<std::size_t>(size));
  if (got == Socket::kAgain) BIO_set_retry_read(bio);
  return got < 0 ? -1 : static_cast<int>(got);
}

int bio_write(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const auto sent = socket_of(bio).send(bytes, static_cast<std::size_t>(size));
  if (sent == Socket::kAgain) BIO_set_retry_write(bio);
  return sent < 0 ? -1 : static_cast<int>(sent);
}

long bio_control(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_FLUSH) return 1;
  if (command == BIO_CTRL_EOF) return socket_of(bio).ended() ? 1 : 0;
  return 0;
}

BIO_METHOD* bio_method() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "cardea socket");
    CARDEA_CHECK(made != nullptr);
    BIO_meth_set_read(made, bio_read);
    BIO_meth_set_write(made, bio_write);
    BIO_meth_set_ctrl(made, bio_control);
    BIO_meth_set_create(made, [](BIO* bio) {
      BIO_set_init(bio, 1);
      return 1;
    });
    return made;
  }();
  return method;
}

class TlsConnection final : public Connection {
 public:
  TlsConnection(Loop& loop, Socket socket, SslPtr ssl, std::shared_ptr<const void> settings,
                PeerCertificates* certificates)
      : Connection(loop, std::move(socket), true),
        settings_(std::move(settings)),
        certificates_(certificates),
        ssl_(std::move(ssl)) {
    BIO* bio = BIO_new(bio_method());
    CARDEA_CHECK(bio != nullptr);
    BIO_set_data(bio, &socket_);
    SSL_set_bio(ssl_.get(), bio, bio);
  }

  Io handshake() override {
    if (established_) return Io::kDone;
    ERR_clear_error();
    const int done = SSL_do_handshake(ssl_.get());
    if (done != 1) {
      const Io outcome = outcome_of(done).status;
      if (outcome == Io::kFailed && ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST)
        refuse_plain_http();
      return outcome == Io::kEnd ? Io::kFailed : outcome;
    }
    established_ = true;
    auto peer = std::make_shared<Peer>();
    peer->address = peer_->address;
    peer->port = peer_->port;
    peer->tls = true;
    if (certificates_) peer->certificate = certificates_->of(ssl_.get());
    peer_ = std::move(peer);
    return Io::kDone;
  }

  std::string_view protocol() const override {
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(ssl_.get(), &name, &size);
    return {reinterpret_cast<const char*>(name), size};
  }

  IoResult read(std::span<char> into) override {
    ERR_clear_error();
    std::size_t got = 0;
    const int done = SSL_read_ex(ssl_.get(), into.data(), into.size(), &got);
    if (done == 1) return {Io::kDone, got};
    return outcome_of(done);
  }

  IoResult write(std::span<const std::string_view> pieces) override {
    std::size_t total = 0;
    Gather gather(pieces);
    for (;;) {
      const std::string_view bytes = gather.next(retry_);
      if (bytes.empty()) return {Io::kDone, total};
      ERR_clear_error();
      std::size_t sent = 0;
      const int done = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &sent);
      if (done != 1) {
        const IoResult outcome = outcome_of(done);
        if (outcome.status != Io::kWouldBlock) return {Io::kFailed, total};
        retry_ = bytes.size();
        return {total > 0 ? Io::kDone : Io::kWouldBlock, total};
      }
      retry_ = 0;
      total += sent;
      gather.skip(sent);
    }
  }

  void shutdown() override {
    ERR_clear_error();
    if (established_ && !fatal_) SSL_shutdown(ssl_.get());
    socket_.shutdown_write();
  }

  std::string failure() const override { return failure_ ? failure_ : Connection::failure(); }

 private:
  // Walks over pieces in steps of at most one TLS record. A record that several pieces share is put
  // together in a buffer on the stack, so that a small answer is one record and one system call.
  class Gather {
   public:
    explicit Gather(std::span<const std::string_view> pieces) : pieces_(pieces) {}

    // Exactly `size` bytes when it is not 0: OpenSSL wants the same length again after a retry.
    std::string_view next(std::size_t size) {
      while (!pieces_.empty() && offset_ == pieces_.front().size()) {
        pieces_ = pieces_.subspan(1);
        offset_ = 0;
      }
      if (pieces_.empty()) return {};
      const std::size_t want = size ? size : kRecord;
      const std::string_view first = pieces_.front().substr(offset_);
      if (first.size() >= want || pieces_.size() == 1) return first.substr(0, want);
      std::size_t filled = 0;
      for (std::size_t i = 0; i < pieces_.size() && filled < want; ++i) {
        const std::string_view piece = (i == 0 ? first : pieces_[i]).substr(0, want - filled);
        std::memcpy(buffer_ + filled, piece.data(), piece.size());
        filled += piece.size();
      }
      return {buffer_, filled};
    }

    void skip(std::size_t size) {
      while (size > 0) {
        const std::size_t step = std::min(size, pieces_.front().size() - offset_);
        offset_ += step;
        size -= step;
        if (offset_ < pieces_.front().size()) return;
        pieces_ = pieces_.subspan(1);
        offset_ = 0;
      }
    }

   private:
    std::span<const std::string_view> pieces_;
    std::size_t offset_ = 0;
    char buffer_[kRecord];
  };

  IoResult outcome_of(int done) {
    switch (SSL_get_error(ssl_.get(), done)) {
      case SSL_ERROR_WANT_READ:
      case SSL_ERROR_WANT_WRITE:
        return {Io::kWouldBlock, 0};
      case SSL_ERROR_ZERO_RETURN:
        return {Io::kEnd, 0};
      default:
        fatal_ = true;  // SSL_shutdown must not follow
        note_failure();
        return {Io::kFailed, 0};
    }
  }

  void note_failure() {
    if (established_ || socket_.error() != 0) return;
    if (const long verdict = SSL_get_verify_result(ssl_.get()); verdict != X509_V_OK)
      failure_ = X509_verify_cert_error_string(verdict);
    else if (const char* reason = ERR_reason_error_string(ERR_peek_error()))
      failure_ = reason;
  }

  void refuse_plain_http() {
    constexpr std::string_view kAnswer =
        "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
    socket_.send(kAnswer.data(), kAnswer.size());
    socket_.shutdown_write();
  }

  std::shared_ptr<const void> settings_;
  PeerCertificates* certificates_;  // held by settings_
  SslPtr ssl_;
  std::size_t retry_ = 0;          // length of a write OpenSSL has begun and wants to see again
  const char* failure_ = nullptr;  // static text of OpenSSL's
  bool established_ = false;
  bool fatal_ = false;
};

}  // namespace

std::unique_ptr<Connection> make_tls_connection(Loop& loop, Socket socket, SslPtr ssl,
                                                std::shared_ptr<const void> settings,
                                                PeerCertificates* certificates) {
  return std::make_unique<TlsConnection>(loop, std::move(socket), std::move(ssl),
                                         std::move(settings), certificates);
}

}  // namespace cardea::net
