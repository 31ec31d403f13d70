#pragma once
// WebSockets (RFC 6455): frames without I/O, the handshake, and a socket on top of a Tunnel. No
// extensions.
#include <array>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/exchange.h"
#include "http/message.h"

namespace cardea::http {

enum class Opcode : std::uint8_t {
  kContinuation = 0,
  kText = 1,
  kBinary = 2,
  kClose = 8,
  kPing = 9,
  kPong = 10,
};

enum class CloseCode : std::uint16_t {
  kNormal = 1000,
  kProtocolError = 1002,
  kTooLarge = 1009,
};

// Takes frames apart, in whatever portions their bytes come. It holds no payload but that of a
// control frame, which has at most 125 bytes.
//
// Both roles are strict: clients mask every frame, servers mask none; reserved bits, unknown
// opcodes, lengths that are not the shortest form, long or fragmented control frames and
// continuations of nothing are errors. That text is UTF-8 is not checked.
class FrameReader {
 public:
  enum class Peer : bool { kClient, kServer };
  enum class Event {
    kNeedMore,  // all input is used up
    kData,      // payload() is the next part of a message, perhaps an empty one
    kPing,      // payload() is what a pong has to repeat
    kPong,
    kClose,  // payload() has the code and the reason of the peer
    kError,  // close_code() says why; nothing after this can be understood
  };

  // A message of more than `max_message` bytes, in one frame or in many, is an error.
  FrameReader(Peer peer, std::uint64_t max_message) : peer_(peer), max_message_(max_message) {}

  // Consumes from the front of `input` up to the next event.
  Event next(std::string_view& input);

  std::string_view payload() const { return payload_; }  // until the next call; not masked any more
  bool is_text() const { return message_ == Opcode::kText; }  // of the message
  bool is_last() const { return is_last_; }                   // the message ends with this part
  CloseCode close_code() const { return close_code_; }

 private:
  enum class State : std::uint8_t { kHead, kPayload, kFailed };
  Event failed(CloseCode code);
  std::size_t head_size() const;  // as far as it is known
  bool read_head();               // false: close_code_ says why
  bool begins_well() const;       // its first two bytes
  void unmask();
  Event data(std::string_view& input);
  Event control(std::string_view& input);

  const Peer peer_;
  const std::uint64_t max_message_;
  State state_ = State::kHead;
  Opcode opcode_ = Opcode::kContinuation;  // of the frame
  Opcode message_ = Opcode::kText;         // of the message
  bool in_message_ = false;                // it has begun and not ended
  bool is_final_ = false;                  // the frame
  bool is_last_ = false;
  CloseCode close_code_ = CloseCode::kNormal;
  std::array<unsigned char, 14> head_{};
  std::size_t head_read_ = 0;
  std::uint64_t left_ = 0;          // of the frame's payload
  std::uint64_t message_size_ = 0;  // of all its frames so far
  std::size_t mask_at_ = 0;
  std::string payload_;
};

// A frame of a server, which is not masked: its head, and whole small ones.
std::string frame_head(Opcode opcode, std::size_t size);
std::string close_frame(CloseCode code);

// Does a request with these headers ask for another protocol, and to become a WebSocket?
bool asks_for_upgrade(const Headers& headers, std::string_view protocol);
bool asks_for_websocket(const Headers& headers);

// What a client that asks for a WebSocket offers.
struct WebSocketOffer {
  std::string accept;                  // the answer to its challenge
  std::vector<std::string> protocols;  // subprotocols, in its order
};

// Reads an offer, or says how it is refused: with the statuses and texts of kube-apiserver.
std::expected<WebSocketOffer, Response> read_websocket_offer(const Request& request);
// Is there an Origin, as browsers send it, which is a URL? kube-apiserver does not compare it with
// anything.
bool has_origin(const Request& request);

// A socket to a client: a stream of messages. Each piece that is written is one message. Finishing
// it sends a close frame. Pings are answered.
class WebSocket final : public Stream,
                        public Receiver,
                        public std::enable_shared_from_this<WebSocket> {
 public:
  struct Options {
    bool text = true;                         // messages are text, else binary
    std::uint64_t max_message = 1024 * 1024;  // of the client
    // The next part of a message; false: nothing more is read until read_on(). Without it messages
    // are dropped. Loop thread.
    std::move_only_function<bool(std::string_view part, bool is_text, bool is_last)> on_data = {};
    // The client has closed the socket, or broken the protocol. A connection that breaks is told by
    // Exchange::on_close instead. Loop thread.
    net::Callback on_end = {};
  };

  // Answers the exchange with 101. `protocol` is the chosen one, or empty; `head` has further
  // header fields. Null: see Exchange::upgrade. Loop thread only.
  static std::shared_ptr<WebSocket> open(Exchange& exchange, const WebSocketOffer& offer,
                                         std::string_view protocol, Response head, Options options);

  bool write(Piece piece) override;
  void finish() override { close(CloseCode::kNormal); }
  void abort() override { tunnel_->abort(); }
  std::size_t pending_bytes() const override { return tunnel_->pending_bytes(); }
  void when_drained(net::Callback callback) override { tunnel_->when_drained(std::move(callback)); }
  void read_on();  // any thread

  WebSocket(net::Loop& loop, Options options)
      : loop_(loop),
        options_(std::move(options)),
        reader_(FrameReader::Peer::kClient, options_.max_message) {}

 private:
  bool receive(std::string_view bytes) override;
  void end() override { ended(CloseCode::kNormal); }
  bool send(std::string frame);
  void close(CloseCode code);
  void ended(CloseCode code);

  net::Loop& loop_;
  Options options_;
  FrameReader reader_;
  std::string held_;  // read, while on_data wants nothing more
  std::shared_ptr<Tunnel> tunnel_;
  std::mutex mutex_;      // held while a frame is written
  bool is_over_ = false;  // loop thread: the client's side is
};

}  // namespace cardea::http
