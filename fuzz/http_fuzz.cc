// rooms: http
// Feeds the HTTP request parser. However the bytes are cut into portions, the requests, their
// bodies and the refusal must come out the same.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "http/request_parser.h"

namespace {

using cardea::http::Request;
using cardea::http::RequestParser;

std::string outcome(std::string_view bytes, std::size_t portion) {
  RequestParser parser(4096);
  Request request;
  std::string seen;
  while (!bytes.empty()) {
    // A copy of exactly this size, so that a read beyond it is noticed.
    const std::string fresh(bytes.substr(0, portion));
    bytes.remove_prefix(fresh.size());
    std::string_view input = fresh;
    for (bool more = true; more;) {
      switch (parser.next(input, request)) {
        case RequestParser::Event::kNeedMore:
          if (!input.empty()) std::abort();
          more = false;
          break;
        case RequestParser::Event::kHead:
          seen += request.method + ' ' + request.path + '?' + request.query + '\n';
          for (const auto& [name, value] : request.headers)
            seen.append(name).append(":").append(value).append("\n");
          break;
        case RequestParser::Event::kBody:
          if (parser.body().empty()) std::abort();
          seen += parser.body();
          break;
        case RequestParser::Event::kEnd:
          seen += "end\n";
          break;
        case RequestParser::Event::kError:
          return seen + std::to_string(parser.error().status) + std::string(parser.error().text);
      }
    }
  }
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string whole = outcome(bytes, size + 1);
  if (outcome(bytes, 1) != whole || outcome(bytes, 5) != whole) std::abort();
  return 0;
}
