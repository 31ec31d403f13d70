#include "authz/fields/field_judge.h"

namespace cardea::authz::fields {

using schema::Demand;

std::optional<bool> Answers::find(std::string_view verb) const {
  auto at = known_.find(verb);
  return at == known_.end() ? std::nullopt : std::optional(at->second);
}

void Answers::add(std::string_view verb, bool allowed, Holds holds) {
  if (!known_.emplace(std::string(verb), allowed).second) return;
  order_.emplace_back(verb, allowed);
  if (holds == Holds::kForTheseObjects) of_objects_.emplace_back(verb);
}

void Answers::forget_objects() {
  for (const std::string& verb : of_objects_) known_.erase(verb);
  of_objects_.clear();
}

std::optional<bool> FieldJudge::known(std::uint32_t index) {
  wanted_ = &demands_.verbs[index];
  return answers_.find(*wanted_);
}

void FieldJudge::refuse(FieldRefusal::Why why, const Demand& demand, std::string verb) {
  refusal_ = FieldRefusal{why, schema::field_text(demand.field), std::move(verb),
                          demands_.chain_of(demand)};
}

std::optional<bool> FieldJudge::judge(const Demand& demand) {
  if (!demand.unnamed.empty()) {
    refuse(FieldRefusal::Why::kUnnamed, demand, demand.unnamed);
    return false;
  }
  for (const auto* needed : {&demand.excluded, &demand.inside})
    for (std::uint32_t index : *needed) {
      std::optional<bool> allowed = known(index);
      if (!allowed) return std::nullopt;
      if (*allowed) continue;
      refuse(FieldRefusal::Why::kExcluded, demand, demands_.verbs[index]);
      return false;
    }
  if (marker_ == Marker::kRegular || !demand.excluded.empty()) return true;
  for (std::uint32_t index : demand.chain) {
    std::optional<bool> allowed = known(index);
    if (!allowed) return std::nullopt;
    if (*allowed) return true;
  }
  refuse(FieldRefusal::Why::kNotCovered, demand,
         demand.chain.empty() ? "" : demands_.verbs[demand.chain.back()]);
  return false;
}

const std::string* FieldJudge::next() {
  for (; at_ < demands_.fields.size() && !refusal_; ++at_) {
    const Demand& demand = demands_.fields[at_];
    if (judge(demand)) continue;
    if (answers_.in_order().size() < kMostVerbs) return wanted_;
    refuse(FieldRefusal::Why::kTooMany, demand, *wanted_);
  }
  return nullptr;
}

void FieldJudge::answer(bool allowed, Answers::Holds holds) {
  answers_.add(*wanted_, allowed, holds);
}

}  // namespace cardea::authz::fields
