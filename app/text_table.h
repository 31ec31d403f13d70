#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace cardea::app {

// Columns for people, as kubectl prints them: two spaces apart, as wide as their widest cell.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header) { add(std::move(header)); }

  // As many cells as the header has.
  void add(std::vector<std::string> cells);
  bool is_empty() const { return rows_.size() == 1; }
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;  // the first is the header
};

// `text` for a terminal: control characters, with which a name could write elsewhere on the screen,
// are question marks.
std::string harmless(std::string_view text);

}  // namespace cardea::app
