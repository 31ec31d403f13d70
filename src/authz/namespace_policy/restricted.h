#pragma once
#include <functional>
#include <optional>
#include <string>

#include "authz/access/residuals.h"
#include "authz/conditions.h"
#include "authz/effects.h"
#include "authz/evaluation.h"
#include "authz/namespace_policy/role.h"
#include "authz/node/graph.h"

namespace cardea::authz::namespace_policy {

// The data for decisions besides the policies. Borrows; null members are absent.
struct Surroundings {
  const KindNames* kinds = nullptr;
  const node::Graph* nodes = nullptr;  // where pods run
  // The nodes of users whose names are not node names.
  std::map<std::string, std::string, std::less<>> node_names = {};

  // The node of a kubelet: from the configuration, else its name without `system:node:`.
  std::string_view node_of(const User& user) const;
};

// The type of conditions on changed fields; their text is the list as JSON.
inline constexpr std::string_view kFieldsType = "policy.openshift.io/fields-mutatable";

// A rule with a restriction that matches a request: whether the restriction holds, as far as
// this is known.
class Restricted {
 public:
  // `effect`: for a denial that matches an effect of the request, whose attributes are given;
  // else null.
  Restricted(const CompiledRole& role, std::size_t rule, Match match, const Attributes& attributes,
             const Surroundings& surroundings, const IndirectEffect* effect = nullptr)
      : role_(role),
        rule_(rule),
        match_(match),
        attributes_(attributes),
        surroundings_(surroundings),
        effect_(effect) {}

  // nullopt: the object decides. An unknown value counts as true for a deny, and as false for an
  // allow.
  std::optional<bool> now() const;
  // The remaining condition, when `now` left it open. `more` is the number of earlier conditions
  // of the same rule.
  Condition later(std::size_t before = 0) const;

 private:
  std::string text() const;
  bool closed() const { return role_.rules()[rule_].deny; }
  std::optional<bool> same_minion() const;
  std::shared_ptr<const Condition::Compiled> compiled() const;

  const CompiledRole& role_;
  std::size_t rule_;
  Match match_;
  const Attributes& attributes_;
  const Surroundings& surroundings_;
  const IndirectEffect* effect_;
  mutable std::optional<cel::Residual> residual_;
};

// `policy.openshift.io/hammer.editor.0`; a hash if that is not a label key. `more` distinguishes
// several of one rule.
std::string condition_id(const CompiledRole& role, std::size_t rule, std::string_view more = "");

// Evaluates conditions that this room made, by their compiled form or by their text.
class RestrictionRuns : public ConditionEvaluator {
 public:
  RestrictionRuns(const ConditionData& data, SecondaryChecks& checks,
                  const Surroundings& surroundings)
      : data_(data), surroundings_(surroundings), cel_(data, checks) {}
  Truth truth(const Condition& condition, std::string& error) override;

 private:
  Truth only_changes(const std::vector<FieldPattern>& fields, bool is_deny, std::string& error);

  const ConditionData& data_;
  const Surroundings& surroundings_;
  access::ResidualRuns cel_;
};

}  // namespace cardea::authz::namespace_policy
