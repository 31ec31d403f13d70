#pragma once
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "authz/namespace_policy/holdings.h"
#include "authz/rbac/rule.h"

namespace cardea::authz {

// What the writer of a role or binding of RBAC may give away besides the rules of RBAC that the
// writer holds:
//
// - What namespace policy gives to the writer. Decided exactly, by asking the policies for every
//   word that either side mentions and for one that neither mentions. `*` as a verb, and the verbs
//   that exempt from checks (`escalate`, `bind`, `deny`), need a rule for everything.
// - A permission on fields (`granular:labels`) that is not excluded, by a writer that holds
// `update`
//   and `patch` on the same resource; and `create`, where objects could be created with it.
//
// A rule counts as held only if all of it was asked about and is held. What cannot be decided, or
// takes too much work, is not held. For one write; borrows everything.
class HeldGrants {
 public:
  struct Writer {
    const User& user;
    std::string_view namespace_name;               // of the write; empty: the whole cluster
    const std::vector<rbac::PolicyRule>& by_rbac;  // the rules that the writer holds there
  };
  // Whether a verb is a permission on fields of this group and resource that whoever may change the
  // objects has anyway. Never asked about wildcards.
  using IsPartOfWriting = std::function<bool(std::string_view group, std::string_view resource,
                                             std::string_view verb)>;

  // `policy` is null where namespace policy does not count.
  HeldGrants(Writer writer, const namespace_policy::Index* policy,
             const namespace_policy::KindNames* kinds, IsPartOfWriting is_part);
  HeldGrants(const HeldGrants&) = delete;

  bool holds(const rbac::PolicyRule& rule);
  // For rules that RBAC gives to the writer: whether policy takes something of them away again.
  bool holds_all(const std::vector<rbac::PolicyRule>& rules);

 private:
  using Answer = namespace_policy::Holdings::Answer;

  void add_policy(const namespace_policy::Index& policy);
  void add_words(const rbac::PolicyRule& rule);
  bool holds_resources(const rbac::PolicyRule& rule);
  bool holds_paths(const rbac::PolicyRule& rule);
  // Each question is about one verb, group, resource and name.
  bool holds_one(const Attributes& a, bool is_for_one_name);
  bool holds_plainly(const Attributes& a);
  bool holds_whole_objects(const Attributes& a, bool is_for_one_name);
  Answer policy_on(const Attributes& a);
  bool rbac_gives(const Attributes& a);
  bool holds_everything() const { return by_policy_ && by_policy_->are_everything(); }
  bool is_exhausted() const;

  Writer writer_;
  namespace_policy::SymbolKinds kinds_;
  std::optional<namespace_policy::Holdings> by_policy_;
  bool may_be_denied_somewhere_ = false;  // a write for the whole cluster: in some namespace
  IsPartOfWriting is_part_;
  namespace_policy::Alphabet alphabet_;  // of what is held
  std::size_t work_ = 0;
};

}  // namespace cardea::authz
