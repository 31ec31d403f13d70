// rooms: cel
// Any text is an expression or a clear error with a position.
#include <cstdint>
#include <cstdlib>

#include "cel/syntax/parser.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cardea::cel;
  ParseOptions options;
  options.macros = ~0u;
  const Parsed parsed = parse({reinterpret_cast<const char*>(data), size}, options);
  if ((parsed.ast == nullptr) == parsed.issues.empty()) std::abort();
  for (const Issue& issue : parsed.issues)
    if (parsed.source->format(issue).empty()) std::abort();
  return 0;
}
