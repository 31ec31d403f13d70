#include "json/testing/recordings.h"

#include <fstream>
#include <iterator>

#include "json/parse.h"

namespace cardea::json {

std::filesystem::path recordings() {
  return CARDEA_RECORDINGS;
}

Value recorded(const std::string& name) {
  std::ifstream file(recordings() / (name + ".json"));
  std::string text{std::istreambuf_iterator<char>(file), {}};
  auto value = parse(text);
  CARDEA_CHECK(value.has_value());
  return *value;
}

}  // namespace cardea::json
