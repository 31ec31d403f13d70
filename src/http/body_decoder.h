#pragma once
#include <cstdint>
#include <string_view>

namespace cardea::http {

// Takes the framing off a message body: Content-Length, chunked (RFC 9112 section 7.1) or until the
// end of the connection. No I/O and no buffer: what it yields are views into what it was given.
class BodyDecoder {
 public:
  enum class Event {
    kNeedMore,  // all input is used up
    kData,      // `data` is the next part of the body
    kEnd,       // the body is complete; the rest of the input belongs to the next message
    kError,     // see error()
  };

  void expect_length(std::uint64_t length);
  void expect_chunks();
  void expect_everything();

  // Consumes from the front of `input` up to the next event.
  Event next(std::string_view& input, std::string_view& data);
  std::string_view error() const { return error_; }

 private:
  enum class State : std::uint8_t {
    kFixed,
    kEverything,
    kSizeFirst,  // the first hex digit of a chunk's size
    kSize,
    kSizeSpace,  // white space between the size and what follows
    kExtension,
    kSizeLf,
    kChunk,
    kChunkCr,
    kChunkLf,
    kTrailerStart,
    kTrailer,
    kTrailerLf,
    kFinalLf,
    kDone,
    kFailed,
  };
  Event failed(std::string_view why);
  bool framing_byte(char c);  // false: failed
  bool size_byte(char c);
  bool trailer_byte(char c);

  State state_ = State::kDone;
  std::uint32_t overhead_ = 0;  // bytes of the current chunk line, or of all trailers
  std::uint64_t left_ = 0;
  std::string_view error_;
};

}  // namespace cardea::http
