#include "json/yaml_lines.h"

#include <yaml-cpp/yaml.h>

#include <charconv>
#include <string>
#include <vector>

#include "base/strings.h"

namespace cardea::json {
namespace {

// "a.b[0][key]" as its steps: "a", "b", "0", "key".
std::vector<std::string> steps_of(std::string_view path) {
  std::vector<std::string> out(1);
  for (char c : path) {
    if (c == '.' || c == '[') out.emplace_back();
    if (c != '.' && c != '[' && c != ']') out.back() += c;
  }
  std::erase(out, "");
  return out;
}

// The node below `node`, and the line where it begins; an undefined one when there is none.
YAML::Node below(const YAML::Node& node, const std::string& step, int& line) {
  if (node.IsSequence()) {
    std::size_t index = node.size();
    std::from_chars(step.data(), step.data() + step.size(), index);
    if (index >= node.size()) return YAML::Node(YAML::NodeType::Undefined);
    line = node[index].Mark().line;
    return node[index];
  }
  if (node.IsMap())
    for (const auto& entry : node) {
      if (!entry.first.IsScalar() || entry.first.Scalar() != step) continue;
      line = entry.first.Mark().line;
      return entry.second;
    }
  return YAML::Node(YAML::NodeType::Undefined);
}

}  // namespace

std::size_t yaml_line_of(std::string_view text, std::string_view path) {
  if (path.empty()) return 0;
  try {
    YAML::Node at = YAML::Load(std::string(text));
    int line = at.Mark().line;
    for (const std::string& step : steps_of(path)) {
      YAML::Node next = below(at, step, line);
      if (!next.IsDefined()) break;
      at.reset(next);
    }
    return line < 0 ? 0 : static_cast<std::size_t>(line) + 1;
  } catch (const YAML::Exception&) {
    return 0;
  }
}

}  // namespace cardea::json
