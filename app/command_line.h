#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cardea::app {

// The words and flags of a small command.
struct CommandLine {
  std::vector<std::string> words;
  std::string wrong;  // what is wrong with it, for the user; empty when nothing is

  // `values` are flags that take a value (`--file F` or `--file=F`), `switches` those that take
  // none.
  static CommandLine read(
      int argc, char** argv,
      const std::map<std::string_view, std::function<void(std::string)>>& values,
      const std::map<std::string_view, bool*>& switches);
};

}  // namespace cardea::app
