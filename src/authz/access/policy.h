#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "authz/attributes.h"
#include "authz/conditions.h"
#include "authz/rbac/rule.h"
#include "cel/program.h"
#include "json/value.h"

namespace cardea::authz::access {

inline constexpr std::string_view kGroup = "access.cardea.dev";

class Residue;  // authz/access/residuals.h

// A ClusterAccessPolicy or AccessPolicy in the form that decisions use. Immutable, shared
// between threads.
//
// A policy that does not compile stays in force as far as that is safe: as a Deny it denies
// everything that its subjects and rules select; otherwise it never matches.
class Policy : public Explanation::Source, public std::enable_shared_from_this<Policy> {
 public:
  // Reads a stored object. An empty namespace means a ClusterAccessPolicy.
  Policy(std::string_view namespace_name, std::string_view name, const json::Value& object);

  using Effect = Condition::Effect;

  const std::string& namespace_name() const { return namespace_name_; }
  const std::string& name() const { return name_; }
  Effect effect() const { return effect_; }
  const std::string& description() const { return description_; }
  const std::vector<rbac::PolicyRule>& rules() const { return rules_; }
  // Null: the policy has no expression, or one that does not compile; `problem` tells which.
  const std::shared_ptr<const cel::Program>& program() const { return program_; }
  const std::string& problem() const { return problem_; }
  // Whether the expression reads anything but `request`.
  bool needs_object() const { return needs_object_; }
  // The reduced expression for every request, when it does not read `request`. Made at the first
  // call, and kept. Null where the result depends on the request.
  const std::shared_ptr<const Residue>& fixed_residue() const;
  // The policy's answer when no other policy selects the request and the reduced expression is
  // fixed. Null when the answer is not a condition.
  const std::shared_ptr<const Conditions>& fixed_conditions() const;
  // `more` distinguishes several conditions of one policy.
  Condition condition_on(std::shared_ptr<const Condition::Compiled> rest,
                         std::string_view more = "") const;

  const std::string& condition_id() const {
    return condition_id_;
  }  // clusteraccesspolicy.access.cardea.dev/NAME: a label key
  std::string shown_name() const;  // ClusterAccessPolicy "NAME"; AccessPolicy "NAMESPACE/NAME"

  // `allowed by ClusterAccessPolicy "x" (its description)`.
  std::string explain(std::uint64_t key) const override;

  // Whether the policy names the user or one of the user's groups.
  bool concerns(const User& user) const;
  // Whether namespace, subjects and rules select the request. A denial of names also selects
  // requests without a name, unless the selectors of the request exclude the names.
  bool selects(const Attributes& attributes) const;
  // The same, for any user.
  bool selects_for_some(const Attributes& attributes) const;
  // Whether a rule says the verb itself; `*` is not enough.
  bool says_verb(const Attributes& attributes) const;
  // For a denial that selects a request without a name: the names that its rules deny; nullopt:
  // every name.
  std::optional<std::vector<std::string>> denied_names(const Attributes& attributes) const;
  // Whether the expression reads what the object is called.
  bool reads_name() const { return reads_name_; }
  // Whether the answer is the same for every user.
  bool is_for_everybody() const { return any_subject_ && !reads_user_; }

  // The known requirements of the policy: for each attribute, the values of which one must hold.
  // nullopt: any value. For finding policies and for describing what a policy grants.
  struct Reach {
    std::optional<std::vector<std::string>> subjects;  // "u:NAME", "g:NAME"
    std::optional<std::vector<std::string>> resources, namespaces, names;
  };
  const Reach& reach() const { return reach_; }

  // The permissions that it gives to its subjects, as rules: its own rules, limited by what the
  // expression says about verb, group, resource and name. Without rules and expression:
  // everything.
  std::vector<rbac::PolicyRule> granted() const;

 private:
  struct Subject {
    bool is_group = false;
    std::string name;  // a service account by its user name
  };
  void read_subjects(const json::Value& subjects);
  void compile(const json::Value& spec);
  void fix() const;
  void find_reach();
  std::optional<std::vector<std::string>> implied(std::string_view attribute) const;

  std::string namespace_name_, name_, condition_id_, description_, problem_;
  Effect effect_ = Effect::kDeny;
  std::vector<Subject> subjects_;
  bool any_subject_ = true;
  std::vector<rbac::PolicyRule> rules_;
  bool any_rule_ = true;
  bool names_objects_ = false;  // some rule is about objects of these names alone
  std::shared_ptr<const cel::Program> program_;
  bool needs_object_ = false, is_fixed_ = false, reads_name_ = false, reads_user_ = false;
  mutable std::once_flag residue_made_;
  mutable std::shared_ptr<const Residue> residue_;
  mutable std::shared_ptr<const Conditions> conditions_;
  Reach reach_;
};

// The longest expression that is compiled.
inline constexpr std::size_t kLongestExpression = 10240;

}  // namespace cardea::authz::access
