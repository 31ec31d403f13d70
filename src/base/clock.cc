#include "base/clock.h"

#include <cstdio>
#include <ctime>

namespace cardea {
namespace {

std::tm utc(std::chrono::system_clock::time_point at) {
  std::time_t seconds = std::chrono::system_clock::to_time_t(
      std::chrono::floor<std::chrono::seconds>(at));
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return parts;
}

}  // namespace

std::string rfc3339(std::chrono::system_clock::time_point at) {
  std::tm t = utc(at);
  char buffer[32];
  return {buffer, std::strftime(buffer, sizeof buffer, "%Y-%m-%dT%H:%M:%SZ", &t)};
}

std::string rfc3339_micro(std::chrono::system_clock::time_point at) {
  auto micros = std::chrono::duration_cast<std::chrono::microseconds>(
      at - std::chrono::floor<std::chrono::seconds>(at));
  std::string text = rfc3339(at);
  text.pop_back();
  char fraction[16];
  std::snprintf(fraction, sizeof fraction, ".%06dZ", static_cast<int>(micros.count()));
  return text + fraction;
}

}  // namespace cardea
