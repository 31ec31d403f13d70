#include "http/websocket.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "crypto/digest.h"
#include "http/syntax.h"

namespace cardea::http {
namespace {

constexpr std::size_t kMaxControl = 125;
constexpr std::size_t kCopied = 2048;  // a message of this size is copied rather than shared
constexpr unsigned char kFinal = 0x80;
constexpr unsigned char kReserved = 0x70;
constexpr unsigned char kMasked = 0x80;
constexpr unsigned char kLength = 0x7f;
constexpr unsigned char kLength16 = 126;
constexpr unsigned char kLength64 = 127;
constexpr std::string_view kChallengeSuffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

bool is_control(Opcode opcode) {
  return static_cast<std::uint8_t>(opcode) >= static_cast<std::uint8_t>(Opcode::kClose);
}

Response refusal(std::string_view text) {
  return {.status = 400, .headers = {{"Connection", "close"}}, .body = std::string(text)};
}

bool is_scheme(std::string_view text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !text.empty() && is_letter(text.front()) &&
         std::all_of(text.begin(), text.end(), [&](char c) {
           return is_letter(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
         });
}

}  // namespace

// --- frames -------------------------------------------------------------------------------------

FrameReader::Event FrameReader::failed(CloseCode code) {
  state_ = State::kFailed;
  close_code_ = code;
  return Event::kError;
}

std::size_t FrameReader::head_size() const {
  if (head_read_ < 2) return 2;
  const unsigned length = head_[1] & kLength;
  const std::size_t extended = length == kLength64 ? 8 : length == kLength16 ? 2 : 0;
  return 2 + extended + (head_[1] & kMasked ? 4 : 0);
}

bool FrameReader::begins_well() const {
  const unsigned length = head_[1] & kLength;
  const bool is_masked = head_[1] & kMasked;
  if (head_[0] & kReserved || is_masked != (peer_ == Peer::kClient)) return false;
  const auto opcode = static_cast<Opcode>(head_[0] & 0x0f);
  switch (opcode) {
    case Opcode::kContinuation:
      return in_message_;
    case Opcode::kText:
    case Opcode::kBinary:
      return !in_message_;
    case Opcode::kClose:
    case Opcode::kPing:
    case Opcode::kPong:
      return head_[0] & kFinal && length <= kMaxControl;
  }
  return false;
}

bool FrameReader::read_head() {
  const unsigned length = head_[1] & kLength;
  const std::size_t extended = length == kLength64 ? 8 : length == kLength16 ? 2 : 0;
  left_ = extended ? 0 : length;
  for (std::size_t i = 0; i < extended; ++i) left_ = left_ << 8 | head_[2 + i];
  mask_at_ = 2 + extended;
  opcode_ = static_cast<Opcode>(head_[0] & 0x0f);
  is_final_ = head_[0] & kFinal;
  close_code_ = CloseCode::kProtocolError;
  // RFC 6455 section 5.2: the shortest form, and the highest bit is 0.
  if ((extended == 2 && left_ < kLength16) || (extended == 8 && (left_ < 65536 || left_ >> 63)))
    return false;
  if (is_control(opcode_)) return true;
  if (opcode_ != Opcode::kContinuation) {
    message_ = opcode_;
    message_size_ = 0;
    in_message_ = true;
  }
  close_code_ = CloseCode::kTooLarge;
  if (left_ > max_message_ - message_size_) return false;
  message_size_ += left_;
  return true;
}

FrameReader::Event FrameReader::next(std::string_view& input) {
  if (state_ == State::kFailed) return Event::kError;
  if (state_ == State::kHead) {
    while (head_read_ < head_size()) {
      if (input.empty()) return Event::kNeedMore;
      head_[head_read_++] = static_cast<unsigned char>(input.front());
      input.remove_prefix(1);
      if (head_read_ == 2 && !begins_well()) return failed(CloseCode::kProtocolError);
    }
    if (!read_head()) return failed(close_code_);
    state_ = State::kPayload;
    payload_.clear();
  }
  return is_control(opcode_) ? control(input) : data(input);
}

void FrameReader::unmask() {
  if (peer_ == Peer::kServer) return;
  // The mask turns as the payload comes in parts.
  unsigned char* mask = head_.data() + mask_at_;
  std::size_t i = 0;
  for (; i < payload_.size(); ++i) payload_[i] = static_cast<char>(payload_[i] ^ mask[i % 4]);
  std::rotate(mask, mask + i % 4, mask + 4);
}

FrameReader::Event FrameReader::data(std::string_view& input) {
  if (left_ > 0 && input.empty()) return Event::kNeedMore;
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, input.size()));
  payload_.assign(input.substr(0, size));
  unmask();
  input.remove_prefix(size);
  left_ -= size;
  is_last_ = left_ == 0 && is_final_;
  if (left_ > 0) return Event::kData;
  state_ = State::kHead;
  head_read_ = 0;
  in_message_ = !is_last_;
  return Event::kData;
}

FrameReader::Event FrameReader::control(std::string_view& input) {
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, input.size()));
  payload_.append(input.substr(0, size));
  input.remove_prefix(size);
  left_ -= size;
  if (left_ > 0) return Event::kNeedMore;
  unmask();
  state_ = State::kHead;
  head_read_ = 0;
  // A close has no payload, or one that begins with a code.
  if (opcode_ == Opcode::kClose)
    return payload_.size() == 1 ? failed(CloseCode::kProtocolError) : Event::kClose;
  return opcode_ == Opcode::kPing ? Event::kPing : Event::kPong;
}

std::string frame_head(Opcode opcode, std::size_t size) {
  std::string out(1, static_cast<char>(kFinal | static_cast<unsigned char>(opcode)));
  const int extended = size > 65535 ? 8 : size > kMaxControl ? 2 : 0;
  out += static_cast<char>(extended == 8 ? kLength64 : extended == 2 ? kLength16 : size);
  for (int i = extended; i-- > 0;) out += static_cast<char>(std::uint64_t{size} >> (8 * i));
  return out;
}

std::string close_frame(CloseCode code) {
  const auto number = static_cast<std::uint16_t>(code);
  std::string out = frame_head(Opcode::kClose, 2);
  out += static_cast<char>(number >> 8);
  out += static_cast<char>(number & 0xff);
  return out;
}

// --- the handshake ------------------------------------------------------------------------------

bool asks_for_websocket(const Headers& headers) {
  return asks_for_upgrade(headers, "websocket");
}

bool asks_for_upgrade(const Headers& headers, std::string_view protocol) {
  if (!equals_ignoring_case(headers.get("upgrade"), protocol)) return false;
  const auto connection = headers.get_all("connection");
  return std::any_of(connection.begin(), connection.end(),
                     [](std::string_view value) { return lists(value, "upgrade"); });
}

std::expected<WebSocketOffer, Response> read_websocket_offer(const Request& request) {
  if (request.method != "GET") {
    Response refused = refusal("bad method");
    refused.status = 405;
    return std::unexpected(std::move(refused));
  }
  const std::string_view key = request.headers.get("sec-websocket-key");
  if (key.empty()) return std::unexpected(refusal("mismatch challenge/response"));
  if (request.headers.get("sec-websocket-version") != "13") {
    Response refused = refusal("missing or bad WebSocket Version");
    refused.headers.add("Sec-WebSocket-Version", "13");
    return std::unexpected(std::move(refused));
  }
  WebSocketOffer offer{.accept = base64(crypto::sha1(cat(key, kChallengeSuffix))), .protocols = {}};
  for (std::string_view line : request.headers.get_all("sec-websocket-protocol"))
    for (std::string_view protocol : split(line, ','))
      if (protocol = trim(protocol); !protocol.empty()) offer.protocols.emplace_back(protocol);
  for (const std::string& protocol : offer.protocols)
    if (!is_token(protocol)) return std::unexpected(refusal({}));
  return offer;
}

bool has_origin(const Request& request) {
  const std::string_view origin = request.headers.get("origin");
  if (origin.starts_with('/')) return true;
  const std::size_t colon = origin.find(':');
  if (colon == std::string_view::npos || !is_scheme(origin.substr(0, colon))) return false;
  std::string_view rest = origin.substr(colon + 1);
  if (!rest.starts_with("//")) return true;
  rest.remove_prefix(2);
  return is_host(rest.substr(0, rest.find_first_of("/?#")));
}

// --- the socket ---------------------------------------------------------------------------------

std::shared_ptr<WebSocket> WebSocket::open(Exchange& exchange, const WebSocketOffer& offer,
                                           std::string_view protocol, Response head,
                                           Options options) {
  head.status = 101;
  head.headers.set("Upgrade", "websocket");
  head.headers.set("Sec-WebSocket-Accept", offer.accept);
  if (!protocol.empty()) head.headers.set("Sec-WebSocket-Protocol", protocol);
  auto socket = std::make_shared<WebSocket>(exchange.loop(), std::move(options));
  socket->tunnel_ = exchange.upgrade(std::move(head), socket);
  return socket->tunnel_ ? socket : nullptr;
}

// Large events are shared by all sockets that send them; the lock keeps head and payload together.
bool WebSocket::write(Piece piece) {
  std::string head = frame_head(options_.text ? Opcode::kText : Opcode::kBinary,
                                piece.bytes.size());
  if (piece.bytes.size() <= kCopied) return send(std::move(head.append(piece.bytes)));
  std::lock_guard lock(mutex_);
  return tunnel_->write(Piece::of(std::move(head))) && tunnel_->write(std::move(piece));
}

bool WebSocket::send(std::string frame) {
  std::lock_guard lock(mutex_);
  return tunnel_->write(Piece::of(std::move(frame)));
}

void WebSocket::close(CloseCode code) {
  send(close_frame(code));
  tunnel_->finish();
}

// The client's side is over. Whoever writes learns it by on_end.
void WebSocket::ended(CloseCode code) {
  if (std::exchange(is_over_, true)) return;
  close(code);
  if (options_.on_end) std::exchange(options_.on_end, nullptr)();
}

bool WebSocket::receive(std::string_view bytes) {
  std::string replies;  // together, because a client may send thousands of pings at once
  std::optional<CloseCode> end;
  bool reads_on = true;
  while (!is_over_ && reads_on && !end) {
    switch (reader_.next(bytes)) {
      case FrameReader::Event::kNeedMore:
        if (!replies.empty()) send(std::move(replies));
        return true;
      case FrameReader::Event::kData:
        if (options_.on_data)
          reads_on = options_.on_data(reader_.payload(), reader_.is_text(), reader_.is_last());
        break;
      case FrameReader::Event::kPing:
        replies += frame_head(Opcode::kPong, reader_.payload().size());
        replies += reader_.payload();
        break;
      case FrameReader::Event::kPong:
        break;
      case FrameReader::Event::kClose:
        end = CloseCode::kNormal;
        break;
      case FrameReader::Event::kError:
        end = reader_.close_code();
        break;
    }
  }
  if (!replies.empty()) send(std::move(replies));
  if (end) ended(*end);
  if (!reads_on) held_.assign(bytes);
  return reads_on;
}

void WebSocket::read_on() {
  loop_.post([self = shared_from_this()] {
    const std::string held = std::exchange(self->held_, {});
    if (self->receive(held)) self->tunnel_->read_on();
  });
}

}  // namespace cardea::http
