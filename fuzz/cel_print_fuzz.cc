// rooms: cel
// What parses prints, and what is printed parses to the same print.
#include <cstdint>
#include <cstdlib>

#include "cel/environments.h"
#include "cel/program.h"
#include "cel/syntax/print.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cardea::cel;
  static const auto env = extended_environment().share();
  CompileOptions unchecked;
  unchecked.check = false;
  const auto program = compile({reinterpret_cast<const char*>(data), size}, env, unchecked);
  if (!program.has_value()) return 0;
  const std::string printed = print((*program)->root());
  const auto again = compile(printed, env, unchecked);
  // Printing may nest deeper than the limits of reading allow.
  if (!again.has_value()) {
    if (again.error().text.find("limit") == std::string::npos) std::abort();
    return 0;
  }
  if (print((*again)->root()) != printed) std::abort();
  return 0;
}
