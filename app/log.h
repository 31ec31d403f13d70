#pragma once
#include <cstdio>
#include <string>

namespace cardea::app {

// One line on standard error. What others sent may be in it, so control characters become spaces:
// nobody writes lines of ours.
inline void log_line(std::string line) {
  for (char& c : line)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  std::fprintf(stderr, "cardea serve: %s\n", line.c_str());
}

}  // namespace cardea::app
