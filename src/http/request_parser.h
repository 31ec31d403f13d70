#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/body_decoder.h"
#include "http/message.h"

namespace cardea::http {

// Parses HTTP/1.x requests from bytes in portions of any size. No I/O, no clock.
//
// It refuses input where two readers could disagree about the end of a request: a length and
// chunks together, lengths that differ, white space around a field name, folded lines, control
// characters. A line of the head may end in LF alone, as in Go's server.
class RequestParser {
 public:
  enum class Event {
    kNeedMore,  // all input is used up
    kHead,      // the request's head is complete; what follows is its body, then kEnd
    kBody,      // body() is the next part
    kEnd,       // the request is complete; the next call begins another
    kError,     // see error(); nothing after this can be understood
  };
  struct Error {
    int status = 400;
    std::string_view text;  // may be empty
  };

  explicit RequestParser(std::size_t max_head = kMaxHead) : max_head_(max_head) {}
  static constexpr std::size_t kMaxHead = (1u << 20) + 4096;
  static constexpr std::size_t kMaxTarget = 128 * 1024;  // of the request line
  static constexpr int kMaxEmptyLines = 16;              // before a request

  // Consumes from the front of `input` up to the next event. The head is written into `request`
  // (which may be used before: its memory is), the body is not.
  Event next(std::string_view& input, Request& request);

  std::string_view body() const { return body_; }  // valid as long as the input is
  const Error& error() const { return error_; }

  // About the request whose head is complete.
  bool keep_alive() const { return keep_alive_; }
  bool expects_continue() const { return expects_continue_; }
  bool has_body() const { return chunked_ || content_length_.value_or(0) > 0; }
  std::optional<std::uint64_t> content_length() const { return content_length_; }

  bool between_requests() const { return stage_ == Stage::kHead && partial_.empty(); }

 private:
  enum class Stage : std::uint8_t { kHead, kHeadDone, kBody, kFailed };

  Event parse_head(std::string_view head, Request& request);
  bool request_line(std::string_view line, Request& request);
  bool field(std::string_view line, Request& request);
  bool framing(const Request& request);
  bool take_content_length(std::string_view value);
  bool refuse(int status, std::string_view text = {});
  bool skip_empty_line();

  std::size_t max_head_;
  std::string partial_;      // a head that came in parts
  std::size_t scanned_ = 0;  // of partial_: holds no end of head
  BodyDecoder decoder_;
  std::string_view body_;
  Error error_;
  std::optional<std::uint64_t> content_length_;
  Stage stage_ = Stage::kHead;
  std::uint8_t hosts_ = 0;
  int empty_lines_ = 0;  // since the last request
  bool chunked_ = false;
  bool keep_alive_ = true;
  bool expects_continue_ = false;
};

}  // namespace cardea::http
