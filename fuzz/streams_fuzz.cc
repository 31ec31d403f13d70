// rooms: rest
// What clients and backends write into proxied requests: names, paths, links, heads of answers.
// A path that was cleaned stays where it is and leads nowhere else; what is escaped decodes to
// itself and ends no line; an answer is the same however its bytes are cut into portions.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/strings.h"
#include "http/response_parser.h"
#include "rest/streams/address_rules.h"
#include "rest/streams/handed_on.h"
#include "rest/streams/location.h"

namespace {

using namespace cardea;
using http::ResponseParser;

void check(bool holds) {
  if (!holds) std::abort();
}

std::string outcome(std::string_view bytes, std::size_t portion, ResponseParser::To request) {
  ResponseParser parser(request);
  std::string seen;
  while (!bytes.empty()) {
    const std::string fresh(bytes.substr(0, portion));
    bytes.remove_prefix(fresh.size());
    std::string_view input = fresh;
    for (;;) {
      const auto event = parser.next(input);
      if (event == ResponseParser::Event::kNeedMore) break;
      if (event == ResponseParser::Event::kHead) seen += cat("head ", parser.status(), "\n");
      if (event == ResponseParser::Event::kBody) seen += parser.body();
      if (event == ResponseParser::Event::kEnd) return seen + "end";
      if (event == ResponseParser::Event::kError) return seen + "error";
    }
  }
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string path = rest::clean_path(text);
  check(rest::clean_path(path) == path);
  check(cat(path, "/").find("/../") == std::string::npos);
  const std::string escaped = rest::escape_path(path);
  check(percent_decode(escaped) == path);
  check(escaped.find_first_of("?#\r\n ") == std::string::npos);
  if (auto name = rest::proxy_name(text, "pod"))
    check(!name->name.empty() && name->name.find(':') == std::string::npos);
  if (rest::is_plain_host(text)) check(text.find_first_of("/@?#[] \r\n") == std::string::npos);
  const rest::AddressRules rules = *rest::AddressRules::make({});
  check(!rules.admits(text) || rest::is_plain_host(text));
  const rest::ProxiedAt at{.host = "h", .prefix = "/p", .backend = "b:1"};
  const std::string link = rest::location_for_client(text, at);
  check(link == text || link.starts_with("/p"));
  for (const auto request : {ResponseParser::To::kUpgrade, ResponseParser::To::kConnect})
    check(outcome(text, 1, request) == outcome(text, size ? size : 1, request));
  return 0;
}
