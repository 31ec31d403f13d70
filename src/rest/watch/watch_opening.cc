#include "rest/watch/watch_opening.h"

#include "base/strings.h"
#include "rest/present/self_description.h"

namespace cardea::rest {
namespace {

constexpr std::size_t kLengthOfFrame = 4;        // before an event in Protobuf
constexpr std::uint64_t kMaxDropped = 32 << 20;  // of a message that nobody reads

Answer refused(const http::Response& response) {
  Answer answer = text_answer(response.status, response.body.text());
  for (const auto& [name, value] : response.headers)
    answer.headers.emplace_back(std::string(name), std::string(value));
  return answer;
}

// Events in Protobuf, each of which has its length in front, which a message does not need.
class BinaryEvents final : public http::Stream {
 public:
  explicit BinaryEvents(std::shared_ptr<http::Stream> socket) : socket_(std::move(socket)) {}

  bool write(http::Piece piece) override {
    piece.bytes.remove_prefix(kLengthOfFrame);
    return socket_->write(std::move(piece));
  }
  void finish() override { socket_->finish(); }
  void abort() override { socket_->abort(); }
  std::size_t pending_bytes() const override { return socket_->pending_bytes(); }
  void when_drained(net::Callback callback) override { socket_->when_drained(std::move(callback)); }

 private:
  std::shared_ptr<http::Stream> socket_;
};

}  // namespace

std::expected<WatchOpening, Answer> WatchOpening::make(Call& call) {
  WatchOpening opening;
  if (!http::asks_for_websocket(call.request().headers)) return opening;
  auto offer = http::read_websocket_offer(call.request());
  if (!offer) return std::unexpected(refused(offer.error()));
  // Kubernetes answers both without a text.
  http::Response plain{.headers = {{"Connection", "close"}}};
  plain.status = !http::has_origin(call.request()) ? 403 : 400;
  if (plain.status == 403 || offer->protocols.size() > 1) return std::unexpected(refused(plain));
  opening.offer_ = std::move(*offer);
  return opening;
}

void WatchOpening::add(std::string_view event) {
  if (offer_)
    messages_.emplace_back(event);
  else
    first_ += event;
}

std::shared_ptr<http::Stream> WatchOpening::open(Call& call, net::Callback on_end) {
  http::Response head;
  head.status = status();
  head.headers.add("Cache-Control", "no-cache, private");
  const bool is_binary = call.view.format == Format::kProtobuf;
  if (!offer_)
    head.headers.add("Content-Type", is_binary ? cat(kProtobufType, ";stream=watch")
                                               : std::string(call.view.content_type()));
  begin_stream(call, head);
  call.exchange->forget_body();
  if (offer_) return open_socket(call, std::move(head), std::move(on_end));
  if (!first_.empty()) head.body = http::Body(std::move(first_));
  return call.exchange->stream(std::move(head));
}

std::shared_ptr<http::Stream> WatchOpening::open_socket(Call& call, http::Response head,
                                                        net::Callback on_end) {
  const bool is_binary = call.view.format == Format::kProtobuf;
  std::string first;  // in one piece with the head, however long it is
  for (std::string_view message : messages_) {
    if (is_binary) message.remove_prefix(kLengthOfFrame);
    first += http::frame_head(is_binary ? http::Opcode::kBinary : http::Opcode::kText,
                              message.size());
    first += message;
  }
  if (!first.empty()) head.body = http::Body(std::move(first));
  std::shared_ptr<http::Stream> stream = http::WebSocket::open(
      *call.exchange, *offer_, offer_->protocols.empty() ? "" : offer_->protocols[0],
      std::move(head),
      {.text = !is_binary, .max_message = kMaxDropped, .on_end = std::move(on_end)});
  if (stream && is_binary) stream = std::make_shared<BinaryEvents>(std::move(stream));
  return stream;
}

}  // namespace cardea::rest
