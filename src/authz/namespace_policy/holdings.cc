#include "authz/namespace_policy/holdings.h"

#include <algorithm>

#include "authz/namespace_policy/denial.h"

namespace cardea::authz::namespace_policy {
namespace {

void collect(const Index& index, const Index::Scope* scope, const User& author,
             std::vector<const CompiledRole*>& out, bool& is_broken) {
  if (!scope) return;
  is_broken |= !scope->problem().empty();
  for (const Grant* g : scope->all()) {
    if (!g->is_of(author)) continue;
    const CompiledRole* role = index.role(*g);
    if (!role || !role->problem().empty())
      is_broken = true;
    else if (std::ranges::find(out, role) == out.end())
      out.push_back(role);
  }
}

}  // namespace

Holdings::Holdings(const Index& index, const User& author, std::string_view namespace_name,
                   const KindNames& kinds)
    : kinds_(kinds), namespace_name_(namespace_name), is_master_(namespace_name == index.master()) {
  collect(index, index.scope(index.master()), author, master_, is_broken_at_master_);
  if (!is_master_) collect(index, index.scope(namespace_name), author, local_, is_broken_locally_);
}

Holdings::Answer Holdings::at_level(const Roles& roles, const Asked& asked,
                                    const Restriction& restriction, std::size_t& work) const {
  std::optional<DenialWords> denials;  // of `named`, made for the first denial
  bool allows = false;
  for (const CompiledRole* role : roles) {
    work += role->rules().size();
    for (std::size_t i = 0; i < role->rules().size(); ++i) {
      const Rule& rule = role->rules()[i];
      if (rule.deny) {
        if (!denials) denials.emplace(asked.named, &kinds_);
        if (denials->concern(*role, i)) return Answer::kDenied;
        continue;
      }
      if (role->matches(i, asked.words) == Match::kNo) continue;
      allows |= rule.restriction.kind == Restriction::Kind::kNone ||
                rule.restriction == restriction;
    }
  }
  return allows ? Answer::kAllowed : Answer::kOpen;
}

Holdings::Answer Holdings::answer(const Asked& asked, const Restriction& restriction,
                                  std::size_t& work) const {
  if (is_broken_at_master_) return Answer::kDenied;
  const Answer first = at_level(master_, asked, restriction, work);
  if (first != Answer::kOpen || !asked.words.attributes.is_resource_request) return first;
  if (is_broken_locally_) return Answer::kDenied;
  return at_level(local_, asked, restriction, work);
}

bool Holdings::are_everything() const {
  if (is_broken_at_master_ || is_broken_locally_) return false;
  bool is_all = false;
  for (const Roles* level : {&master_, &local_})
    for (const CompiledRole* role : *level) {
      if (role->has_deny()) return false;
      is_all |= std::ranges::any_of(role->rules(), allows_everything);
    }
  return is_all;
}

void Holdings::add_to(Alphabet& alphabet) const {
  for (const Roles* level : {&master_, &local_})
    for (const CompiledRole* role : *level) alphabet.add(*role, &kinds_);
}

}  // namespace cardea::authz::namespace_policy
