// rooms: cel
// Any text is a program of the environment or is refused with a position in the text; never
// anything else.
#include <cstdint>
#include <cstdlib>

#include "cel/environments.h"
#include "cel/program.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cardea::cel;
  static const auto env = admission_environment().share();
  const auto program = compile({reinterpret_cast<const char*>(data), size}, env);
  if (program.has_value()) {
    if ((*program)->type() == nullptr) std::abort();
    return 0;
  }
  if (program.error().issues.empty() || !program.error().text.starts_with("ERROR: <input>:"))
    std::abort();
  for (const Issue& issue : program.error().issues)
    if (issue.position > size || issue.message.empty()) std::abort();
  return 0;
}
