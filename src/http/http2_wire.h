#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "http/message.h"
#include "http/output.h"
#include "net/loop.h"

struct nghttp2_session;

namespace cardea::http {

// How much of the useless a client may send. Frames that carry nothing, streams that end by a reset
// and the like spend it; time and answers that the client takes earn it back.
class Patience {
 public:
  bool spend(net::SteadyTime now);  // false: there is none left
  void earn(std::size_t amount);

 private:
  static constexpr std::size_t kMost = 2'000;
  static constexpr std::size_t kPerSecond = 100;

  std::size_t left_ = kMost;
  net::SteadyTime counted_{};
};

// Follows the frames of a peer by their heads alone, whatever nghttp2 makes of them: it tells
// nobody of frames that it ignores.
class FrameScan {
 public:
  explicit FrameScan(bool with_preface) : skip_(with_preface ? kPrefaceSize : 0) {}

  struct Frame {
    std::uint8_t type = 0;
    std::uint8_t flags = 0;
    std::size_t length = 0;
  };
  // Takes bytes from the front of `bytes`, up to the next head of a frame. False: all are used up.
  bool next(std::string_view& bytes, Frame& frame);
  bool in_block() const { return in_block_; }  // a block of header fields has begun and not ended

 private:
  static constexpr std::size_t kPrefaceSize = 24;

  std::size_t skip_;           // bytes up to the next head
  std::size_t head_size_ = 0;  // of `head_`, as far as it is read
  std::uint8_t head_[9] = {};
  bool in_block_ = false;
  bool block_ends_ = false;  // with the current frame
};

// The wire's view of one stream, and the part of its answer that is not sent yet.
struct Http2Stream {
  std::int32_t id = 0;
  std::size_t unsent = 0;  // bytes of `pieces`
  std::vector<Piece> pieces;
  std::size_t first = 0;   // of `pieces`: the first that is not wholly sent
  std::size_t offset = 0;  // bytes of it that are sent
  bool last = false;       // no piece will follow

  void add(const Piece& piece);
  void forget_pieces();
};

// HTTP/2 without sockets, for servers and clients: bytes in, events out, frames into an Output. The
// one place that knows nghttp2, which checks all that RFC 9113 says about frames, header fields and
// lengths.
//
// What a peer can make it hold is bounded: see the constants in the source. Loop thread only.
class Http2Wire {
 public:
  enum class Role : std::uint8_t { kServer, kClient };
  enum class Code : std::uint32_t {  // RFC 9113 section 7
    kNoError = 0,
    kProtocolError = 1,
    kInternalError = 2,
    kRefusedStream = 7,
    kCancel = 8,
    kEnhanceYourCalm = 11,
  };

  // A client's request without its body.
  struct RequestHead {
    std::string_view method;
    std::string_view scheme;
    std::string_view authority;
    std::string_view target;
    const Headers& headers;  // connection-specific ones are left out
    std::optional<std::size_t> length;
  };

  // What happens, told from inside receive() and fill(). Told ones may call the wire's other
  // functions. A stream stays alive until on_closed.
  class Events {
   public:
    // To a server: a request begins.
    virtual Http2Stream* on_stream(std::int32_t) { return nullptr; }
    // Names are in lower case; pseudo-header fields begin with a colon and come first.
    virtual void on_field(Http2Stream& stream, std::string_view name, std::string_view value) = 0;
    // `too_large`: fields were left out. `end`: there is no body. Servers are not told of trailers;
    // to a client each interim answer, the answer and the trailers are a head.
    virtual void on_head(Http2Stream& stream, bool too_large, bool end) = 0;
    virtual void on_data(Http2Stream& stream, std::string_view bytes) = 0;
    virtual void on_end(Http2Stream& stream) = 0;
    virtual void on_sent(Http2Stream& stream) = 0;  // a part of its pieces
    // To a server: all of its answer, while the client still sends the request.
    virtual void on_answered_early(Http2Stream&) {}
    virtual void on_closed(Http2Stream& stream, Code code) = 0;
    // To a client: a request could not be sent any more. No on_closed follows.
    virtual void on_not_sent(std::int32_t /*id*/) {}

   protected:
    ~Events() = default;
  };

  // `max_streams`: that a client may open.
  Http2Wire(Role role, Events& events, Output& output, std::uint32_t max_streams = 0);
  ~Http2Wire();
  Http2Wire(const Http2Wire&) = delete;
  Http2Wire& operator=(const Http2Wire&) = delete;

  // The window of a new stream: so much of a body comes without being asked for.
  static constexpr std::size_t kStreamWindow = 256 * 1024;
  // DATA is not added to an output that holds this much, so that what comes later and is small
  // does not wait long.
  static constexpr std::size_t kMaxUnsent = 64 * 1024;

  void receive(std::string_view bytes, net::SteadyTime now);
  // Moves frames into the output: all that are not DATA, and DATA while there is room.
  void fill();
  // Nothing will be read or sent any more; the reason is in the output.
  bool over() const;
  // A GOAWAY has been put into the output since this was asked last.
  bool take_goaway_sent();
  bool greeted() const { return greeted_; }          // the peer's settings have arrived
  bool in_head() const { return scan_.in_block(); }  // a head has begun and not ended
  net::SteadyTime head_began() const { return head_began_; }
  std::size_t unsent() const { return unsent_; }  // bytes of all streams

  // Status and header fields; connection-specific ones are left out. `length` is null when the
  // length is not known. `end`: no body follows.
  void send_head(Http2Stream& stream, const Response& response, std::string_view date,
                 std::optional<std::size_t> length, bool end);
  void send_continue(Http2Stream& stream);
  // For clients: begins a request. False: no further stream can be opened. `end`: no body follows.
  bool send_request(Http2Stream& stream, const RequestHead& head, bool end);
  bool accepts_requests() const;      // no GOAWAY has come, and numbers are left
  std::uint32_t max_streams() const;  // that the server allows at a time
  void add(Http2Stream& stream, const Piece& piece);
  void resume(Http2Stream& stream);  // it has pieces again, or is finished
  void reset(Http2Stream& stream, Code code);
  void grant(Http2Stream& stream, std::size_t bytes);  // the client may send as much again
  void ping();
  void go_away();        // new streams are refused, those that are open may end
  void fail(Code code);  // now

 private:
  struct Callbacks;
  friend struct Callbacks;

  bool head_too_large() const;
  bool is_told(int category) const;   // a block of header fields
  bool scan(std::string_view bytes);  // false: the client tries our patience
  void arrived() { carriers_ -= carriers_ > 0 ? 1 : 0; }

  const Role role_;
  Events& events_;
  Output& output_;
  nghttp2_session* session_ = nullptr;
  Patience patience_;
  FrameScan scan_;
  std::size_t carriers_ = 0;  // frames with requests that came and that nghttp2 has not told of
  std::size_t interim_ = 0;   // heads that are on their way and do not answer a request
  net::SteadyTime now_{};
  net::SteadyTime head_began_{};
  std::size_t unsent_ = 0;
  std::size_t head_size_ = 0;
  std::size_t head_fields_ = 0;
  bool greeted_ = false;
  bool going_away_ = false;
  bool goaway_sent_ = false;
  bool failed_ = false;
};

}  // namespace cardea::http
