#include "app/command_line.h"

#include "base/strings.h"

namespace cardea::app {

CommandLine CommandLine::read(
    int argc, char** argv,
    const std::map<std::string_view, std::function<void(std::string)>>& values,
    const std::map<std::string_view, bool*>& switches) {
  CommandLine out;
  for (int i = 1; i < argc; ++i) {
    std::string_view flag = argv[i];
    if (!flag.starts_with('-') || flag == "-") {
      out.words.emplace_back(flag);
      continue;
    }
    if (auto at = switches.find(flag); at != switches.end()) {
      *at->second = true;
      continue;
    }
    auto equals = flag.find('=');
    auto at = values.find(flag.substr(0, equals));
    if (at == values.end()) {
      out.wrong = cat("unknown flag `", flag.substr(0, equals), "`");
      return out;
    }
    if (equals == flag.npos && i + 1 >= argc) {
      out.wrong = cat("`", flag, "` needs a value");
      return out;
    }
    at->second(equals == flag.npos ? std::string(argv[++i]) : std::string(flag.substr(equals + 1)));
  }
  return out;
}

}  // namespace cardea::app
