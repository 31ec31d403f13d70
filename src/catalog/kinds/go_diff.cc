#include "catalog/kinds/go_diff.h"

#include <algorithm>
#include <vector>

#include "base/strings.h"

namespace cardea::catalog {
namespace {

constexpr std::size_t kContext = 3;

enum class Op : char { kSame = ' ', kRemoved = '-', kAdded = '+' };
struct Line {
  Op op;
  std::string_view text;
};

// The longest common subsequence by dynamic programming: specs have a hundred lines, not a million.
std::vector<Line> compare(const std::vector<std::string_view>& a,
                          const std::vector<std::string_view>& b) {
  std::vector<std::vector<int>> length(a.size() + 1, std::vector<int>(b.size() + 1, 0));
  for (std::size_t i = a.size(); i-- > 0;)
    for (std::size_t j = b.size(); j-- > 0;)
      length[i][j] = a[i] == b[j] ? length[i + 1][j + 1] + 1
                                  : std::max(length[i + 1][j], length[i][j + 1]);
  std::vector<Line> out;
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      out.push_back({Op::kSame, a[i]});
      ++i, ++j;
    } else if (i < a.size() && (j == b.size() || length[i + 1][j] >= length[i][j + 1])) {
      out.push_back({Op::kRemoved, a[i++]});
    } else {
      out.push_back({Op::kAdded, b[j++]});
    }
  }
  return out;
}

std::string range(std::size_t start, std::size_t count) {
  if (count == 1) return cat(start + 1);
  return cat(count == 0 ? start : start + 1, ",", count);
}

}  // namespace

std::string indent_json(std::string_view compact) {
  std::string out;
  int depth = 0;
  bool quoted = false;
  auto new_line = [&] { out += '\n', out.append(static_cast<std::size_t>(depth), ' '); };
  for (std::size_t i = 0; i < compact.size(); ++i) {
    char c = compact[i];
    if (quoted) {
      out += c;
      if (c == '\\' && i + 1 < compact.size()) out += compact[++i];
      quoted = c != '"';
    } else if (c == '"') {
      out += c, quoted = true;
    } else if (c == '{' || c == '[') {
      out += c;
      if (i + 1 < compact.size() && (compact[i + 1] == '}' || compact[i + 1] == ']')) {
        out += compact[++i];
      } else {
        ++depth, new_line();
      }
    } else if (c == '}' || c == ']') {
      --depth, new_line(), out += c;
    } else if (c == ',') {
      out += c, new_line();
    } else {
      out += c;
      if (c == ':') out += ' ';
    }
  }
  return out;
}

std::string unified_diff(std::string_view before, std::string_view after) {
  std::vector<Line> lines = compare(split(before, '\n'), split(after, '\n'));
  std::string out;
  for (std::size_t i = 0; i < lines.size();) {
    if (lines[i].op == Op::kSame) {
      ++i;
      continue;
    }
    std::size_t start = i < kContext ? 0 : i - kContext, end = i;
    // A hunk goes on while the next change is within twice the context.
    for (std::size_t k = i; k < lines.size() && k <= end + 2 * kContext; ++k)
      if (lines[k].op != Op::kSame) end = k;
    end = std::min(lines.size(), end + kContext + 1);
    std::size_t before_start = 0, after_start = 0, before_count = 0, after_count = 0;
    for (std::size_t k = 0; k < end; ++k) {
      bool in_before = lines[k].op != Op::kAdded, in_after = lines[k].op != Op::kRemoved;
      (k < start ? before_start : before_count) += in_before;
      (k < start ? after_start : after_count) += in_after;
    }
    out += cat("@@ -", range(before_start, before_count), " +", range(after_start, after_count),
               " @@\n");
    for (std::size_t k = start; k < end; ++k)
      out += cat(static_cast<char>(lines[k].op), lines[k].text, "\n");
    i = end;
  }
  return out;
}

}  // namespace cardea::catalog
