#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "base/strings.h"
#include "cel/eval/frame.h"
#include "cel/eval/opaque.h"
#include "cel/lib/libraries.h"

namespace cardea::cel {
namespace {

using Args = const Value*;

bool all_digits(std::string_view s) {
  return !s.empty() && s.find_first_not_of("0123456789") == std::string_view::npos;
}
bool identifier(std::string_view s) {
  return !s.empty() && std::ranges::all_of(s, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  });
}

bool number(std::string_view part, std::string_view name, std::uint64_t& out, std::string& why) {
  if (!all_digits(part))
    return why = cat("Invalid character(s) found in ", name, " number ", quoted(part)), false;
  if (part.size() > 1 && part[0] == '0')
    return why = cat(name, " number must not contain leading zeroes ", quoted(part)), false;
  if (std::from_chars(part.data(), part.data() + part.size(), out).ec != std::errc())
    return why = "value out of range", false;
  return true;
}

bool identifiers(std::string_view list, bool prerelease, std::string& why) {
  for (const std::string_view part : split(list, '.')) {
    if (!identifier(part))
      return why = part.empty() ? "Prerelease is empty"
                                : cat("Invalid character(s) found in prerelease ", quoted(part)),
             false;
    if (prerelease && all_digits(part) && part.size() > 1 && part[0] == '0')
      return why = cat("Numeric PreRelease version must not contain leading zeroes ", quoted(part)),
             false;
  }
  return true;
}

std::optional<Semver> parse(std::string_view s, std::string& why) {
  if (s.empty()) return why = "Version string empty", std::nullopt;
  const std::size_t first = s.find('.');
  const std::size_t second = first == std::string_view::npos ? first : s.find('.', first + 1);
  if (second == std::string_view::npos)
    return why = "No Major.Minor.Patch elements found", std::nullopt;
  Semver v;
  if (!number(s.substr(0, first), "Major", v.major, why) ||
      !number(s.substr(first + 1, second - first - 1), "Minor", v.minor, why))
    return std::nullopt;
  std::string_view patch = s.substr(second + 1);
  if (const std::size_t plus = patch.find('+'); plus != std::string_view::npos) {
    v.build = patch.substr(plus + 1);
    patch = patch.substr(0, plus);
    if (!identifiers(v.build, false, why)) return std::nullopt;
  }
  if (const std::size_t dash = patch.find('-'); dash != std::string_view::npos) {
    v.prerelease = patch.substr(dash + 1);
    patch = patch.substr(0, dash);
    if (!identifiers(v.prerelease, true, why)) return std::nullopt;
  }
  if (!number(patch, "Patch", v.patch, why)) return std::nullopt;
  return v;
}

// v1.2 becomes 1.2.0, and 01.02.03 becomes 1.2.3. A suffix without all three numbers stays an
// error.
std::string normalized(std::string_view s) {
  if (s.starts_with('v')) s.remove_prefix(1);
  std::vector<std::string> parts;
  std::string_view rest = s;
  while (parts.size() < 2) {
    const std::size_t dot = rest.find('.');
    if (dot == std::string_view::npos) break;
    parts.emplace_back(rest.substr(0, dot));
    rest = rest.substr(dot + 1);
  }
  parts.emplace_back(rest);
  for (std::string& part : parts)
    if (part.size() > 1) {
      const std::size_t keep = part.find_first_not_of('0');
      std::string stripped = keep == std::string::npos ? "" : part.substr(keep);
      if (stripped.empty() || stripped[0] < '0' || stripped[0] > '9') stripped = "0" + stripped;
      part = stripped;
    }
  if (parts.size() < 3) {
    if (parts.back().find_first_of("+-") != std::string::npos)
      return std::string(s);  // cannot be completed
    while (parts.size() < 3) parts.emplace_back("0");
  }
  return join(parts, ".");
}

std::optional<Semver> read(Frame& f, Args a, std::size_t n, std::string& why) {
  if (n < 2 || !a[1].is_true()) return parse(a[0].string(), why);
  return parse(f.arena.copy(normalized(a[0].string())), why);
}
Value text_to_semver(Frame& f, Args a, std::size_t n) {
  std::string why;
  const auto v = read(f, a, n, why);
  return v ? Value::of_opaque(Kind::kSemver, f.arena.make<Semver>(*v)) : f.error(why);
}
Value is_semver(Frame& f, Args a, std::size_t n) {
  std::string why;
  return Value::of(read(f, a, n, why).has_value());
}
Value compare_to(Frame&, Args a, std::size_t) {
  return Value::of_int(compare_semver(semver_of(a[0]), semver_of(a[1])));
}
Value greater(Frame&, Args a, std::size_t) {
  return Value::of(compare_semver(semver_of(a[0]), semver_of(a[1])) > 0);
}
Value less(Frame&, Args a, std::size_t) {
  return Value::of(compare_semver(semver_of(a[0]), semver_of(a[1])) < 0);
}
Value major_of(Frame&, Args a, std::size_t) {
  return Value::of_int(static_cast<std::int64_t>(semver_of(a[0]).major));
}
Value minor_of(Frame&, Args a, std::size_t) {
  return Value::of_int(static_cast<std::int64_t>(semver_of(a[0]).minor));
}
Value patch_of(Frame&, Args a, std::size_t) {
  return Value::of_int(static_cast<std::int64_t>(semver_of(a[0]).patch));
}

#define S "kubernetes.Semver"
constexpr OverloadRow kRows[] = {
    {"semver", "string_to_semver", "(string) " S, text_to_semver},
    {"semver", "string_bool_to_semver", "(string, bool) " S, text_to_semver, nullptr, 1},
    {"isSemver", "is_semver_string", "(string) bool", is_semver},
    {"isSemver", "is_semver_string_bool", "(string, bool) bool", is_semver, nullptr, 1},
    {"isGreaterThan", "semver_is_greater_than", S ".(" S ") bool", greater},
    {"isLessThan", "semver_is_less_than", S ".(" S ") bool", less},
    {"compareTo", "semver_compare_to", S ".(" S ") int", compare_to},
    {"major", "semver_major", S ".() int", major_of},
    {"minor", "semver_minor", S ".() int", minor_of},
    {"patch", "semver_patch", S ".() int", patch_of},
};

int order(auto a, auto b) {
  return a < b ? -1 : (b < a ? 1 : 0);
}

int compare_identifiers(std::string_view a, std::string_view b) {
  const bool a_number = all_digits(a);
  const bool b_number = all_digits(b);
  if (a_number && b_number) return a.size() != b.size() ? order(a.size(), b.size()) : order(a, b);
  if (a_number != b_number) return a_number ? -1 : 1;
  return order(a, b);
}

}  // namespace

int compare_semver(const Semver& a, const Semver& b) {
  if (a.major != b.major) return order(a.major, b.major);
  if (a.minor != b.minor) return order(a.minor, b.minor);
  if (a.patch != b.patch) return order(a.patch, b.patch);
  if (a.prerelease.empty() || b.prerelease.empty())
    return order(b.prerelease.size() > 0, a.prerelease.size() > 0);
  const auto as = split(a.prerelease, '.');
  const auto bs = split(b.prerelease, '.');
  for (std::size_t i = 0; i < std::min(as.size(), bs.size()); ++i)
    if (const int c = compare_identifiers(as[i], bs[i]); c != 0) return c;
  return order(as.size(), bs.size());
}

std::string print_semver(const Semver& v) {
  std::string out = cat(v.major, ".", v.minor, ".", v.patch);
  if (!v.prerelease.empty()) out += cat("-", v.prerelease);
  if (!v.build.empty()) out += cat("+", v.build);
  return out;
}

std::span<const OverloadRow> semver_overloads() {
  return kRows;
}

}  // namespace cardea::cel
