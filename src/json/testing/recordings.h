#pragma once
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "json/parse.h"
#include "json/value.h"

namespace cardea::json {

// The recorded conversations with a real kube-apiserver.
inline std::filesystem::path recordings() {
  return std::filesystem::path(__FILE__).parent_path().parent_path().parent_path().parent_path() /
         "tests/conformance/data/http";
}

// One of them; stops the test program when it cannot be read.
inline Value recorded(const std::string& name) {
  std::ifstream file(recordings() / (name + ".json"));
  std::string text{std::istreambuf_iterator<char>(file), {}};
  auto value = parse(text);
  CARDEA_CHECK(value.has_value());
  return *value;
}

}  // namespace cardea::json
