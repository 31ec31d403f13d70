#pragma once
#include "authz/effects.h"
#include "authz/namespace_policy/role.h"

namespace cardea::authz::namespace_policy {

// A request as denials read it: itself, and all its effects (authz/effects.h). Made on the
// stack when the first denial is found. Borrows the words.
class DenialWords {
 public:
  DenialWords(const RequestWords& request, const KindNames* kinds);
  DenialWords(const DenialWords&) = delete;

  // Calls `visit(match, effect, words)` for each reading of the request that the denial matches,
  // until it returns false. The effect is null for the request itself.
  template <typename Visit>
  void for_each(const CompiledRole& role, std::size_t rule, Visit visit) const {
    Match own = role.matches(rule, request_);
    if (own != Match::kNo && !visit(own, static_cast<const IndirectEffect*>(nullptr), request_))
      return;
    if (effects_.empty() || role.leaves_out(rule, request_)) return;
    for (std::size_t i = 0; i < effects_.size(); ++i) {
      Match match = matches(role, rule, i);
      if (match != Match::kNo && !visit(match, &effects_[i], words_[i])) return;
    }
  }
  // Whether the denial matches the request or one of its effects.
  bool concern(const CompiledRole& role, std::size_t rule) const;

 private:
  Match matches(const CompiledRole& role, std::size_t rule, std::size_t effect) const;

  const RequestWords& request_;
  IndirectEffects effects_;
  boost::container::static_vector<RequestWords, kMostEffects> words_;
};

}  // namespace cardea::authz::namespace_policy
