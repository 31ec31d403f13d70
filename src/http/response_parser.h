#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/body_decoder.h"
#include "http/message.h"

namespace cardea::http {

// One HTTP/1.x response out of bytes, in whatever portions they come. No I/O. Interim responses
// (1xx) are skipped. A change of protocol (101) is an error, unless it was asked for: then what
// follows the head is the body, up to the end of the connection. So it is after a CONNECT that was
// granted. Make a new one for each response.
class ResponseParser {
 public:
  enum class Event {
    kNeedMore,
    kHead,   // status() and headers() are known
    kBody,   // body() is the next part
    kEnd,    // complete; what is left of the input is not part of it
    kError,  // see error()
  };

  // The request it answers, where that changes how the response is read.
  enum class To : std::uint8_t { kOther, kHead, kUpgrade, kConnect };

  explicit ResponseParser(To request) : request_(request) {}

  Event next(std::string_view& input);
  // The connection ended. True when that completes the response.
  bool end_of_input() const { return stage_ == Stage::kUntilEnd; }
  // After the head: the connection is a tunnel now.
  bool is_tunnel() const {
    return status_ == 101 || (request_ == To::kConnect && status_ >= 200 && status_ < 300);
  }

  int status() const { return status_; }
  Headers& headers() { return headers_; }
  std::string_view body() const { return body_; }
  std::string_view error() const { return error_; }
  bool keep_alive() const { return keep_alive_; }
  bool any_byte() const { return any_byte_; }

 private:
  enum class Stage : std::uint8_t { kHead, kBody, kUntilEnd, kDone, kFailed };

  Event failed(std::string_view why);
  bool parse_head(std::string_view head);
  bool status_line(std::string_view line);
  bool field(std::string_view line);
  bool framing();

  To request_;
  bool keep_alive_ = true;
  bool any_byte_ = false;
  bool chunked_ = false;
  Stage stage_ = Stage::kHead;
  int status_ = 0;
  std::string partial_;
  int interim_ = 0;  // heads before the one of the answer
  std::size_t scanned_ = 0;
  std::optional<std::uint64_t> content_length_;
  BodyDecoder decoder_;
  Headers headers_;
  std::string_view body_;
  std::string_view error_;
};

}  // namespace cardea::http
