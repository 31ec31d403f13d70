#include "base/clock.h"

#include "base/time_parse.h"

namespace cardea {

std::string rfc3339(std::chrono::system_clock::time_point at) {
  return print_rfc3339(to_timestamp(at));
}

std::string rfc3339_micro(std::chrono::system_clock::time_point at) {
  return print_rfc3339_micro(to_timestamp(at));
}

}  // namespace cardea
