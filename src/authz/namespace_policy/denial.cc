#include "authz/namespace_policy/denial.h"

namespace cardea::authz::namespace_policy {

DenialWords::DenialWords(const RequestWords& request, const KindNames* kinds)
    : request_(request), effects_(effects_of(request.attributes)) {
  for (const IndirectEffect& e : effects_) words_.emplace_back(e.attributes, kinds);
}

Match DenialWords::matches(const CompiledRole& role, std::size_t rule, std::size_t effect) const {
  Match match = role.matches(rule, words_[effect]);
  // A whole collection is left to what the selector of the request excludes, whatever the effect is
  // called.
  if (match != Match::kByName || !reaches_all(request_.attributes)) return match;
  for (const std::string& name : role.rules()[rule].resource_names)
    if (!selectors_exclude(request_.attributes, name)) return Match::kReached;
  return Match::kNo;
}

bool DenialWords::concern(const CompiledRole& role, std::size_t rule) const {
  bool found = false;
  for_each(role, rule, [&](Match, const IndirectEffect*, const RequestWords&) {
    found = true;
    return false;
  });
  return found;
}

}  // namespace cardea::authz::namespace_policy
