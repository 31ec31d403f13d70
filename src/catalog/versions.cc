#include "catalog/versions.h"

#include <cstdint>
#include <optional>
#include <tuple>

#include "base/strings.h"

namespace cardea::catalog {

namespace {

struct Rank {
  int stability;  // 2 generally available, 1 beta, 0 alpha
  std::int64_t major, minor;
};

// Digits without a sign or leading zero.
std::optional<std::int64_t> take_number(std::string_view& text) {
  auto end = text.find_first_not_of("0123456789");
  auto digits = text.substr(0, end);
  if (digits.empty() || digits[0] == '0') return std::nullopt;
  text.remove_prefix(digits.size());
  return parse_int(digits);
}

std::optional<Rank> rank_of(std::string_view version) {
  if (!version.starts_with('v')) return std::nullopt;
  version.remove_prefix(1);
  auto major = take_number(version);
  if (!major) return std::nullopt;
  if (version.empty()) return Rank{2, *major, 0};
  int stability = version.starts_with("beta") ? 1 : 0;
  if (!stability && !version.starts_with("alpha")) return std::nullopt;
  version.remove_prefix(stability ? 4 : 5);
  auto minor = take_number(version);
  if (!minor || !version.empty()) return std::nullopt;
  return Rank{stability, *major, *minor};
}

}  // namespace

bool version_before(std::string_view a, std::string_view b) {
  auto left = rank_of(a), right = rank_of(b);
  if (!left || !right) return left ? true : right ? false : a < b;
  return std::tie(left->stability, left->major, left->minor) >
         std::tie(right->stability, right->major, right->minor);
}

}  // namespace cardea::catalog
