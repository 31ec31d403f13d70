#include "http/request_parser.h"

#include "base/strings.h"
#include "http/syntax.h"

namespace cardea::http {
namespace {

constexpr std::size_t kKeptPartial = 4096;

}  // namespace

bool RequestParser::refuse(int status, std::string_view text) {
  stage_ = Stage::kFailed;
  error_ = {status, text};
  return false;
}

RequestParser::Event RequestParser::next(std::string_view& input, Request& request) {
  switch (stage_) {
    case Stage::kFailed:
      return Event::kError;
    case Stage::kHeadDone:
      stage_ = Stage::kBody;
      [[fallthrough]];
    case Stage::kBody:
      switch (decoder_.next(input, body_)) {
        case BodyDecoder::Event::kNeedMore:
          return Event::kNeedMore;
        case BodyDecoder::Event::kData:
          return Event::kBody;
        case BodyDecoder::Event::kEnd:
          stage_ = Stage::kHead;
          return Event::kEnd;
        case BodyDecoder::Event::kError:
          refuse(400, decoder_.error());
          return Event::kError;
      }
      return Event::kError;
    case Stage::kHead:
      break;
  }

  if (partial_.empty()) {
    // Some old clients send an empty line after a body; RFC 9112 section 2.2 has servers skip it.
    while (!input.empty() && (input.starts_with("\r\n") || input.front() == '\n')) {
      input.remove_prefix(input.front() == '\n' ? 1 : 2);
      if (!skip_empty_line()) return Event::kError;
    }
    if (input.empty()) return Event::kNeedMore;
    const std::size_t end = end_of_head(input, 0);
    if (end != std::string_view::npos && end <= max_head_) {
      const std::string_view head = input.substr(0, end);
      input.remove_prefix(end);
      return parse_head(head, request);
    }
  }
  const std::size_t room = max_head_ + 1 - partial_.size();
  const std::size_t before = partial_.size();
  partial_.append(input.substr(0, room));
  if (partial_.front() == '\r' && partial_.size() > 1) {
    if (partial_[1] != '\n') {
      refuse(400);
      return Event::kError;
    }
    partial_.clear();  // the empty line above, in two portions
    input.remove_prefix(1);
    if (!skip_empty_line()) return Event::kError;
    return next(input, request);
  }
  const std::size_t end = end_of_head(partial_, scanned_);
  if (end == std::string_view::npos || end > max_head_) {
    if (partial_.size() > max_head_) {
      refuse(431);
      return Event::kError;
    }
    scanned_ = partial_.size() >= 3 ? partial_.size() - 3 : 0;
    input = {};
    return Event::kNeedMore;
  }
  input.remove_prefix(end - before);
  const Event event = parse_head(std::string_view(partial_).substr(0, end), request);
  scanned_ = 0;
  partial_.clear();
  if (partial_.capacity() > kKeptPartial) partial_.shrink_to_fit();
  return event;
}

// A client that sends nothing else would keep its connection, and the server busy, for ever.
bool RequestParser::skip_empty_line() {
  return ++empty_lines_ <= kMaxEmptyLines || refuse(400);
}

RequestParser::Event RequestParser::parse_head(std::string_view head, Request& request) {
  empty_lines_ = 0;
  request.headers.clear();
  request.has_upgrade = false;
  content_length_.reset();
  chunked_ = expects_continue_ = false;
  hosts_ = 0;
  if (!request_line(take_line(head), request)) return Event::kError;
  for (std::string_view line = take_line(head); !line.empty(); line = take_line(head))
    if (!field(line, request)) return Event::kError;
  if (!framing(request)) return Event::kError;
  stage_ = Stage::kHeadDone;
  return Event::kHead;
}

bool RequestParser::request_line(std::string_view line, Request& request) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return refuse(400);
  const std::string_view version = line.substr(last + 1);
  if (!is_token(line.substr(0, first))) return refuse(400);
  if (version == "HTTP/1.1")
    request.minor_version = 1;
  else if (version == "HTTP/1.0")
    request.minor_version = 0;
  else if (version.size() == 8 && version.starts_with("HTTP/") && version[6] == '.' &&
           version[5] >= '0' && version[5] <= '9' && version[7] >= '0' && version[7] <= '9')
    return refuse(505, "unsupported protocol version");
  else
    return refuse(400);
  keep_alive_ = request.minor_version == 1;
  if (last - first > kMaxTarget) return refuse(414);
  request.method.assign(line.substr(0, first));
  return read_target(line.substr(first + 1, last - first - 1), request) || refuse(400);
}

bool RequestParser::field(std::string_view line, Request& request) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return refuse(400);
  const std::string_view name = line.substr(0, colon);
  // Also refuses "Name : value" and lines folded with leading white space.
  if (!is_token(name)) return refuse(400, "invalid header name");
  const std::string_view value = trim_spaces(line.substr(colon + 1));
  if (!is_field_value(value)) return refuse(400, "invalid header value");
  if (request.headers.count() >= kMaxFields) return refuse(431);
  request.headers.add(name, value);

  switch (name.size()) {
    case 4:
      if (!equals_ignoring_case(name, "host")) return true;
      if (++hosts_ > 1) return refuse(400, "too many Host headers");
      return is_host(value) || refuse(400, "malformed Host header");
    case 6:
      if (!equals_ignoring_case(name, "expect")) return true;
      if (!equals_ignoring_case(value, "100-continue")) return refuse(417);
      expects_continue_ = true;
      return true;
    case 7:
      if (equals_ignoring_case(name, "upgrade")) request.has_upgrade = true;
      return true;
    case 10:
      if (!equals_ignoring_case(name, "connection")) return true;
      if (lists(value, "close")) keep_alive_ = false;
      return true;
    case 14:
      return !equals_ignoring_case(name, "content-length") || take_content_length(value);
    case 17:
      if (!equals_ignoring_case(name, "transfer-encoding")) return true;
      if (chunked_) return refuse(400, "too many transfer encodings");
      if (!equals_ignoring_case(value, "chunked"))
        return refuse(501, "Unsupported transfer encoding");
      chunked_ = true;
      return true;
    default:
      return true;
  }
}

bool RequestParser::take_content_length(std::string_view value) {
  const auto length = parse_length(value);
  if (!length) return refuse(400, "bad Content-Length");
  if (content_length_ && content_length_ != length)
    return refuse(400, "differing Content-Length headers");
  content_length_ = length;
  return true;
}

bool RequestParser::framing(const Request& request) {
  if (request.minor_version == 1 && hosts_ == 0) return refuse(400, "missing required Host header");
  if (chunked_ && content_length_) return refuse(400, "both Content-Length and Transfer-Encoding");
  if (chunked_ && request.minor_version == 0) return refuse(400, "chunked encoding in HTTP/1.0");
  if (request.minor_version == 0) expects_continue_ = false;
  if (chunked_)
    decoder_.expect_chunks();
  else
    decoder_.expect_length(content_length_.value_or(0));
  return true;
}

}  // namespace cardea::http
