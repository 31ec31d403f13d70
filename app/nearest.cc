#include "app/nearest.h"

#include <algorithm>
#include <vector>

#include "base/strings.h"

namespace cardea::app {
namespace {

// How many letters have to be changed, left out, added or swapped with their neighbour.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last, last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = last;
    last = row;
  }
  return last[b.size()];
}

constexpr std::size_t kLongestWord = 64;

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> known) {
  if (word.size() > kLongestWord) return {};
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  std::string found;
  for (const std::string& candidate : known)
    if (std::size_t d = distance(word, candidate); d < least) {
      least = d;
      found = candidate;
    }
  return found;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> known) {
  std::string meant = nearest(word, known);
  return meant.empty() ? "" : cat("; did you mean `", meant, "`");
}

}  // namespace cardea::app
