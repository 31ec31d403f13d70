#include <algorithm>

#include "cel/partial/partial.h"

namespace cardea::cel {
namespace {

// Strings and bools are exact; numbers of different types with the same value are one key.
bool same_key(const Value& a, const Value& b) {
  return equal(a, b);
}

bool overlaps(std::span<const Qualifier> pattern, std::span<const Qualifier> attribute) {
  for (std::size_t i = 0; i < std::min(pattern.size(), attribute.size()); ++i)
    if (!pattern[i].wildcard && !attribute[i].wildcard &&
        !same_key(pattern[i].key, attribute[i].key))
      return false;
  return true;
}

}  // namespace

bool touches(const UnknownPattern& pattern, std::string_view variable,
             std::span<const Qualifier> qualifiers) {
  return pattern.variable == variable && overlaps(pattern.qualifiers, qualifiers);
}

Unknowns::Unknowns(const Environment& environment, const std::vector<UnknownPattern>& patterns) {
  by_slot_.resize(environment.variables().size());
  for (const UnknownPattern& p : patterns) {
    const Variable* v = environment.find_variable(p.variable);
    if (v == nullptr) continue;
    bits_ |= slot_bit(v->slot);
    if (p.qualifiers.empty())
      by_slot_[v->slot].whole = true;
    else
      by_slot_[v->slot].patterns.push_back(p.qualifiers);
  }
}

Unknowns Unknowns::variables(const Environment& environment,
                             const std::vector<std::string>& names) {
  std::vector<UnknownPattern> patterns;
  for (const std::string& name : names) patterns.push_back({name, {}});
  return Unknowns(environment, patterns);
}

bool Unknowns::touched(std::uint32_t slot, std::span<const Qualifier> qualifiers) const {
  if (whole(slot)) return true;
  if (slot >= by_slot_.size()) return false;
  return std::ranges::any_of(by_slot_[slot].patterns,
                             [&](const auto& p) { return overlaps(p, qualifiers); });
}

}  // namespace cardea::cel
