#include "app/text_table.h"

#include <algorithm>

namespace cardea::app {
namespace {

// Code points: bytes that do not continue one.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

std::string harmless(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto c = static_cast<unsigned char>(text[i]);
    auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    bool is_c1 = c == 0xC2 && next >= 0x80 && next < 0xA0;  // U+0080 to U+009F
    if (is_c1) ++i;
    out += is_c1 || c < 0x20 || c == 0x7F ? '?' : text[i];
  }
  return out;
}

void TextTable::add(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = harmless(cell);
  rows_.push_back(std::move(cells));
}

std::string TextTable::text() const {
  std::vector<std::size_t> widths(rows_[0].size());
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      line.append(widths[i] - width(row[i]) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

}  // namespace cardea::app
