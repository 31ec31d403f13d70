// rooms: json
// Any bytes as YAML and as JSON: an answer or an error, never a crash; JSON is printed and read back alike.
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
  if (auto document = json::parse_yaml(text, 1 << 16)) (void)json::print_yaml(document->value);
  return 0;
}
