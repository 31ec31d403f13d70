#include "conformance/conformance.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "json/parse.h"

namespace cardea::conformance {

std::string folder() {
  if (const char* given = std::getenv("CARDEA_CONFORMANCE")) return given;
  std::filesystem::path beside = std::filesystem::path(CARDEA_SOURCE_DIR) / ".." / "shared" /
                                 "conformance";
  return std::filesystem::is_directory(beside) ? beside.lexically_normal().string() : "";
}

std::string own_folder() {
  return CARDEA_SOURCE_DIR "/tests/conformance/data";
}

std::string path_of(const std::string& name) {
  for (const std::string& root : {own_folder(), folder()})
    if (!root.empty() && std::filesystem::exists(root + "/" + name)) return root + "/" + name;
  return "";
}

json::Value read(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  auto value = json::parse(text.str());
  if (!file || !value) {
    std::fprintf(stderr, "cannot read %s: %s\n", path.c_str(),
                 value ? "no such file" : value.error().message.c_str());
    std::exit(1);
  }
  return *value;
}

Counts run_cel(const std::string& path) {
  cel::conform::ErrorTexts texts;
  auto counts = cel::conform::run(path, texts);
  if (counts) return *counts;
  std::printf("%s\n", counts.error().message.c_str());
  return {.failed = 1};
}

}  // namespace cardea::conformance
