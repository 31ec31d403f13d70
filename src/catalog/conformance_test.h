#pragma once
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "json/parse.h"
#include "json/value.h"

namespace cardea::catalog {

// One recorded conversation with a real kube-apiserver, or nothing where the recordings are not at hand:
// $CARDEA_CONFORMANCE, else ../shared/conformance beside the repository.
inline std::optional<json::Value> recorded(const std::string& name) {
  namespace fs = std::filesystem;
  const char* given = std::getenv("CARDEA_CONFORMANCE");
  std::vector<fs::path> folders;
  if (given) folders.emplace_back(given);
  fs::path source = fs::path(__FILE__).parent_path().parent_path().parent_path();
  folders.push_back(source / "../shared/conformance");
  folders.push_back(source / "../../shared/conformance");
  for (const fs::path& folder : folders) {
    std::ifstream file(folder / "http" / (name + ".json"));
    if (!file) continue;
    std::string text{std::istreambuf_iterator<char>(file), {}};
    if (auto value = json::parse(text)) return *value;
  }
  return std::nullopt;
}

}  // namespace cardea::catalog

#define CARDEA_RECORDED_OR_SKIP(variable, name)                                          \
  auto variable = ::cardea::catalog::recorded(name);                                     \
  if (!variable) GTEST_SKIP() << "no recorded conversation " << name << " at hand"
