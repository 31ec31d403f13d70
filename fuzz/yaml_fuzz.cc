// rooms: json
// Any bytes as YAML, as JSON and as a configuration file: an answer or an error, never a crash;
// JSON is printed and read back alike.
#include <cstdint>
#include <string_view>

#include "json/parse.h"
#include "json/print.h"
#include "json/yaml.h"

using namespace cardea;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto document = json::parse_document(text)) {
    auto again = json::parse(json::print(document->value));
    if (!again || json::print(*again) != json::print(document->value)) __builtin_trap();
  }
  auto yaml = json::parse_yaml(text, 1 << 16);
  if (yaml) (void)json::print_yaml(yaml->value);
  // A configuration means what YAML makes of it, or is refused.
  auto strict = json::parse_configuration(text, 1 << 16);
  if (strict && !json::is_json_configuration(text) && (!yaml || !(strict->value == yaml->value)))
    __builtin_trap();
  return 0;
}
