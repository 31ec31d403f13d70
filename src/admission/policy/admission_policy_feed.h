#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "admission/policy/policy_set.h"
#include "base/snapshot.h"
#include "store/follow.h"

namespace cardea::admission {

// Admission policies of one kind, mutating or validating, and their bindings, as a PolicySet. What
// cannot be read is a policy, or a binding, that says nothing.
class AdmissionPolicyFold {
 public:
  explicit AdmissionPolicyFold(bool is_mutating);

  std::vector<std::string> prefixes() const { return {policies_prefix_, bindings_prefix_}; }
  store::Folded change(std::string_view key, const store::Record* before,
                       const store::Record* after);
  void publish() { set_.set(std::make_shared<const PolicySet>(policies_, bindings_)); }
  const Snapshot<PolicySet>& snapshot() const { return set_; }

 private:
  // Whether this change makes another set.
  bool change_policy(const std::string& name, const json::Value* spec);
  bool change_binding(const std::string& name, const json::Value* spec);

  const bool is_mutating_;
  const std::string policies_prefix_, bindings_prefix_;
  PolicySet::Policies policies_;
  PolicySet::Bindings bindings_;
  Snapshot<PolicySet> set_{std::make_shared<const PolicySet>(policies_, bindings_)};
};

// Started with whether it is about the mutating ones.
using AdmissionPolicyFeed = store::Follower<AdmissionPolicyFold>;

}  // namespace cardea::admission
