#include "cel/syntax/ast.h"

#include <algorithm>

#include "base/strings.h"

namespace cardea::cel {
namespace {

constexpr std::size_t kMaxShownLine = 16384;

std::size_t sequence_length(unsigned char lead) {
  return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

}  // namespace

Source::Source(std::string text) : text_(std::move(text)) {}

std::pair<int, int> Source::line_and_column(std::uint32_t position) const {
  if (text_.empty()) return {1, 0};  // there is no first column
  int line = 1;
  std::size_t start = 0;
  const std::size_t end = std::min<std::size_t>(position, text_.size());
  for (std::size_t i = 0; i < end; ++i)
    if (text_[i] == '\n') {
      ++line;
      start = i + 1;
    }
  return {line,
          static_cast<int>(code_points(std::string_view(text_).substr(start, end - start))) + 1};
}

std::string Source::format(const Issue& issue) const {
  const auto [line, column] = line_and_column(issue.position);
  if (text_.empty()) return cat("ERROR: <input>:", line, ":", column, ": ", issue.message);
  const std::size_t at = std::min<std::size_t>(issue.position, text_.size());
  const std::size_t newline = at == 0 ? std::string::npos : text_.rfind('\n', at - 1);
  const std::size_t start = newline == std::string::npos ? 0 : newline + 1;
  std::size_t end = text_.find('\n', start);
  if (end == std::string::npos) end = text_.size();
  // The text of a very long line does not help the reader of an error.
  if (end - start > kMaxShownLine)
    return cat("ERROR: <input>:", line, ":", column, ": ", issue.message);
  std::string shown = text_.substr(start, end - start);
  for (char& c : shown)
    if (c == '\t') c = ' ';
  std::string out = cat("ERROR: <input>:", line, ":", column, ": ", issue.message, "\n | ", shown,
                        "\n | ");
  // Wide marks stand under characters that are not ASCII, because these are often drawn wide.
  for (std::size_t i = start; i < at; i += sequence_length(static_cast<unsigned char>(text_[i])))
    out += static_cast<unsigned char>(text_[i]) < 0x80 ? "." : "\uFF0E";
  return out +
         (at < text_.size() && static_cast<unsigned char>(text_[at]) >= 0x80 ? "\uFF3E" : "^");
}

std::string Source::format(const std::vector<Issue>& issues) const {
  std::vector<const Issue*> sorted;
  for (const Issue& issue : issues) sorted.push_back(&issue);
  std::ranges::stable_sort(sorted, {}, &Issue::position);
  std::string out;
  for (const Issue* issue : sorted) out += (out.empty() ? "" : "\n") + format(*issue);
  return out;
}

}  // namespace cardea::cel
