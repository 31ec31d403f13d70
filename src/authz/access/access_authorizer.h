#pragma once
#include "authz/access/index.h"
#include "authz/authorizer.h"
#include "authz/condition_meter.h"
#include "base/snapshot.h"

namespace cardea::authz::access {

// Decides by ClusterAccessPolicies and AccessPolicies. The parts of their expressions about the
// request are evaluated at once; the parts about the object become conditions, one for each
// policy.
//
// Deny has precedence over NoOpinion, and NoOpinion over Allow, in any order of the policies.
// Policies of a namespace count only where those of the cluster leave the decision open.
// Borrows the feed.
class AccessAuthorizer : public Authorizer {
 public:
  // With `metrics`, which must outlive it, evaluations are measured.
  explicit AccessAuthorizer(const Snapshot<Index>& policies, MetricRegistry* metrics = nullptr);

  std::string_view name() const override { return "access"; }
  std::string_view type() const override { return "Access"; }
  std::optional<Decision> authorize(const Attributes& attributes) const override;
  Task<Decision> evaluate(std::shared_ptr<const Conditions> conditions,
                          const ConditionData& data) const override;
  Decision narrowed(std::shared_ptr<const Conditions> conditions,
                    const Attributes& impersonated) const override;
  void add_rules(const User& user, std::string_view namespace_name, Rules& rules) const override;
  // The subjects of policies that allow; the rule has the expression, if any, as a member.
  // Policies with an expression and policies that do not allow make the list incomplete.
  void add_allowed(const Attributes& attributes, AllowedSubjects& allowed) const override;
  std::shared_ptr<const Authorizer> frozen() const override;
  bool may_deny() const override { return policies_.get()->denials() > 0; }

 private:
  const Snapshot<Index>& policies_;
  std::shared_ptr<ConditionMeter> meter_;  // null: nothing is measured
};

// The authorizer of policies that stay as they are; nothing is measured.
std::shared_ptr<const Authorizer> authorizer_of(std::shared_ptr<const Index> index);
// The same from an index that the caller holds.
Decision decide(const Index& index, const Attributes& attributes);
void add_allowed_by(const Index& index, const Attributes& attributes, AllowedSubjects& allowed);

// Settles conditions in the language of access policies, whoever made them. With a meter it is
// measured.
Task<Decision> settled(std::shared_ptr<const Conditions> conditions, const ConditionData& data,
                       std::shared_ptr<ConditionMeter> meter = nullptr);

// The result of the policies of one level. `holds`: they matched for every object. Conditions
// may be empty.
struct Matches {
  const Policy* denies = nullptr;
  const Policy* abstains = nullptr;
  const Policy* allows = nullptr;
  std::string denial;  // instead of the usual reason
  std::vector<Condition> deny_if, abstain_if, allow_if;
};
Decision combined(Matches matches);

}  // namespace cardea::authz::access
