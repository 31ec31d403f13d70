#include "http/response_parser.h"

#include "base/strings.h"
#include "http/syntax.h"

namespace cardea::http {
namespace {

constexpr std::size_t kMaxHead = 1u << 20;
constexpr int kMostInterim = 5;

}  // namespace

ResponseParser::Event ResponseParser::failed(std::string_view why) {
  stage_ = Stage::kFailed;
  error_ = why;
  return Event::kError;
}

ResponseParser::Event ResponseParser::next(std::string_view& input) {
  if (!input.empty()) any_byte_ = true;
  while (stage_ == Stage::kHead) {
    const std::size_t before = partial_.size();
    partial_.append(input);
    const std::size_t end = end_of_head(partial_, scanned_);
    if (end == std::string_view::npos || end > kMaxHead) {
      if (partial_.size() > kMaxHead) return failed("the response's head is too large");
      scanned_ = partial_.size() >= 3 ? partial_.size() - 3 : 0;
      input = {};
      return Event::kNeedMore;
    }
    input.remove_prefix(end - before);
    const bool understood = parse_head(std::string_view(partial_).substr(0, end));
    partial_.clear();
    scanned_ = 0;
    if (!understood) return Event::kError;
    if (status_ >= 200 || status_ == 101) return Event::kHead;
    // An interim response: another head follows.
    if (++interim_ > kMostInterim) return failed("too many interim responses");
    stage_ = Stage::kHead;
  }
  if (stage_ == Stage::kFailed) return Event::kError;
  switch (decoder_.next(input, body_)) {
    case BodyDecoder::Event::kNeedMore:
      return Event::kNeedMore;
    case BodyDecoder::Event::kData:
      return Event::kBody;
    case BodyDecoder::Event::kEnd:
      stage_ = Stage::kDone;
      return Event::kEnd;
    case BodyDecoder::Event::kError:
      return failed(decoder_.error());
  }
  return Event::kError;
}

bool ResponseParser::parse_head(std::string_view head) {
  headers_.clear();
  content_length_.reset();
  chunked_ = false;
  if (!status_line(take_line(head))) return false;
  for (std::string_view line = take_line(head); !line.empty(); line = take_line(head))
    if (!field(line)) return false;
  return framing();
}

bool ResponseParser::status_line(std::string_view line) {
  const auto digit = [&](std::size_t at) { return line[at] >= '0' && line[at] <= '9'; };
  if (line.size() < 12 || !(line.starts_with("HTTP/1.1 ") || line.starts_with("HTTP/1.0 ")) ||
      !digit(9) || !digit(10) || !digit(11) || line[9] == '0' ||
      (line.size() > 12 && line[12] != ' '))
    return failed("malformed status line"), false;
  keep_alive_ = line[7] == '1';
  status_ = (line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0');
  return status_ != 101 || request_ == To::kUpgrade ||
         (failed("unexpected change of protocol"), false);
}

bool ResponseParser::field(std::string_view line) {
  const std::size_t colon = line.find(':');
  const std::string_view name = line.substr(0, colon);
  if (colon == std::string_view::npos || !is_token(name)) return failed("malformed header"), false;
  const std::string_view value = trim_spaces(line.substr(colon + 1));
  if (!is_field_value(value)) return failed("malformed header"), false;
  if (headers_.count() >= kMaxFields) return failed("too many headers"), false;
  headers_.add(name, value);
  if (equals_ignoring_case(name, "connection")) {
    keep_alive_ = keep_alive_ && !lists(value, "close");
  } else if (equals_ignoring_case(name, "content-length")) {
    const auto length = parse_length(value);
    if (!length || (content_length_ && content_length_ != length))
      return failed("bad Content-Length"), false;
    content_length_ = length;
  } else if (equals_ignoring_case(name, "transfer-encoding")) {
    if (chunked_ || !equals_ignoring_case(value, "chunked"))
      return failed("unsupported transfer encoding"), false;
    chunked_ = true;
  }
  return true;
}

bool ResponseParser::framing() {
  stage_ = Stage::kBody;
  if (is_tunnel()) {
    decoder_.expect_everything();
    stage_ = Stage::kUntilEnd;
    keep_alive_ = false;
  } else if (request_ == To::kHead || status_ < 200 || status_ == 204 || status_ == 304) {
    decoder_.expect_length(0);
  } else if (chunked_ && content_length_) {
    return failed("both Content-Length and Transfer-Encoding"), false;
  } else if (chunked_) {
    decoder_.expect_chunks();
  } else if (content_length_) {
    decoder_.expect_length(*content_length_);
  } else {
    decoder_.expect_everything();
    stage_ = Stage::kUntilEnd;
    keep_alive_ = false;
  }
  return true;
}

}  // namespace cardea::http
