#pragma once
#include <memory>

#include "authz/authorizer.h"
#include "authz/condition_meter.h"
#include "authz/namespace_policy/decide.h"
#include "authz/namespace_policy/index.h"
#include "base/snapshot.h"

namespace cardea::authz::namespace_policy {

// Decides by the policy documents of the master namespace and of the request's own. What the
// request and the policies settle is answered at once, without allocating; what restrictions leave
// to the object comes back as conditions. Borrows the documents and what the surroundings point to.
class PolicyAuthorizer : public Authorizer {
 public:
  // With `metrics`, which outlive it, evaluations are measured.
  PolicyAuthorizer(const Snapshot<Index>& documents, Surroundings surroundings,
                   MetricRegistry* metrics = nullptr);

  std::string_view name() const override { return "policy"; }
  std::string_view type() const override { return "Policy"; }
  std::optional<Decision> authorize(const Attributes& attributes) const override;
  Task<Decision> evaluate(std::shared_ptr<const Conditions> conditions,
                          const ConditionData& data) const override;
  // Rules without denials, negations and restrictions; `incomplete` says that there are others.
  void add_rules(const User& user, std::string_view namespace_name, Rules& rules) const override;
  // The subjects that are bound to a rule that allows, without those that a rule denies by the
  // same name. Remarks say what is not exact.
  void add_allowed(const Attributes& attributes, AllowedSubjects& allowed) const override;
  std::shared_ptr<const Authorizer> frozen() const override;
  bool may_deny() const override { return documents_.get()->may_deny(); }

  // Both reasons of a decision.
  Answer explain(const Attributes& attributes) const;
  const Snapshot<Index>& documents() const { return documents_; }
  const Surroundings& surroundings() const { return surroundings_; }

 private:
  const Snapshot<Index>& documents_;
  Surroundings surroundings_;
  std::shared_ptr<ConditionMeter> meter_;  // null: nothing is measured
};

// The authorizer of policies that stay as they are. Borrows what the surroundings point to.
std::shared_ptr<const Authorizer> authorizer_of(std::shared_ptr<const Index> index,
                                                Surroundings surroundings);
// As the authorizer's own, from an index that stays as it is.
void add_allowed_by(const Index& index, const Attributes& attributes,
                    const Surroundings& surroundings, AllowedSubjects& allowed);

}  // namespace cardea::authz::namespace_policy
