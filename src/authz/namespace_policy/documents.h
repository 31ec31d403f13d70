#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "authz/namespace_policy/resource_groups.h"
#include "json/field_error.h"
#include "json/value.h"

// Policy documents: the permissions in a namespace, with deny, negation and restrictions.
// Values and pure functions; docs/namespace-policy.md explains them.
//
// Reading accepts several spellings: keys in any case, `"Deny": "true"`, `rule` for `rules`,
// `resources` for `resourceKinds`, name and namespace beside `kind` instead of in `metadata`,
// `referencesGlobalRole` and `roleName` for `roleRef`. Printing is canonical. Content without a
// meaning (an unknown field, a text where a list belongs) is an error with its path: a
// misspelled `deny` must not become an allow. Reading continues after an error; the result may
// then only be shown.
namespace cardea::authz::namespace_policy {

inline constexpr std::string_view kGroup = "authorization.openshift.io";
inline constexpr std::string_view kVersion = "v1beta3";
inline constexpr std::string_view kApiVersion = "authorization.openshift.io/v1beta3";
inline constexpr std::string_view kPolicyName = "default";  // of the one Policy of a namespace
inline constexpr std::string_view kDefaultMaster = "master";
// The keys of containers: `NAMESPACE/NAME` follows.
inline constexpr std::string_view
    kPoliciesPrefix = "/registry/authorization.openshift.io/policies/";
inline constexpr std::string_view
    kPolicyBindingsPrefix = "/registry/authorization.openshift.io/policybindings/";

inline constexpr std::size_t kMostRules = 1000;      // of a role
inline constexpr std::size_t kLongestText = 512;     // bytes of a rule's description
inline constexpr std::size_t kMostWords = 1000;      // of one list of a rule
inline constexpr std::size_t kMostSubjects = 10000;  // of a binding, users or groups

// The requirement on the object for a rule to count.
struct Restriction {
  enum class Kind : std::uint8_t {
    kNone,
    kFieldsMutatable,  // {"fieldsMutatable": ["labels", "spec.replicas"]}: nothing else changes
    kLabelsContain,    // {"labelsContain": ["protected", "tier=front"]}: all of them are there
    kSameMinion,       // {"kind": "sameMinionRestriction"}: a pod of the user's own node
    kPersonalReview,   // {"kind": "IsPersonalSubjectAccessReview"}: a review about the user
    kCel,              // {"kind": "cel", "expression": "..."}
    kUnknown,          // refused when written; if found in the store, it fails closed
  };
  Kind kind = Kind::kNone;
  std::vector<std::string> items;  // fields or labels
  std::string expression;
  json::Value written;  // of an unknown one

  bool operator==(const Restriction&) const = default;
};

struct Rule {
  bool deny = false;
  // Lower case, but see `stored_verb`. `-x` removes x from the same list.
  std::vector<std::string> verbs, resource_kinds;
  std::vector<std::string> resource_names, non_resource_urls, api_groups;
  Restriction restriction;
  std::string description = {};  // for people whom the rule refuses

  bool operator==(const Rule&) const = default;
};

struct Role {
  std::string namespace_name, name;  // as `metadata` says
  json::Value metadata;
  std::vector<Rule> rules;
};

struct RoleRef {
  std::string namespace_name, name;
  bool operator==(const RoleRef&) const = default;
};

struct RoleBinding {
  std::string namespace_name, name;
  json::Value metadata;
  RoleRef role;
  std::vector<std::string> user_names, group_names;
};

// The roles of a namespace.
struct PolicyDocument {
  std::string namespace_name, name;
  json::Value metadata, last_modified;
  std::map<std::string, Role, std::less<>> roles;
};

// Bindings of a namespace to roles of one policy: its own, or that of the master namespace, after
// which it is named.
struct PolicyBindingDocument {
  std::string namespace_name, name;
  json::Value metadata, last_modified;
  RoleRef policy;  // the name is that of the policy, `default`
  std::map<std::string, RoleBinding, std::less<>> role_bindings;
};

// The place where a document is read: it provides values that the document leaves out.
struct Place {
  std::string_view namespace_name;  // of the request, or of the key in the store
  std::string_view master = kDefaultMaster;
};

// Paths of errors begin with `at`: "" or "roles[edit]". A Policy named `Policy` becomes
// `default`. Elements of containers are identified by their key; an element without a name gets
// the key as its name.
Rule read_rule(const json::Value& sent, const std::string& at, json::FieldErrors& errors);
Role read_role(const json::Value& sent, const Place& place, const std::string& at,
               json::FieldErrors& errors);
RoleBinding read_role_binding(const json::Value& sent, const Place& place, const std::string& at,
                              json::FieldErrors& errors);
PolicyDocument read_policy(const json::Value& sent, const Place& place, json::FieldErrors& errors);
PolicyBindingDocument read_policy_binding(const json::Value& sent, const Place& place,
                                          json::FieldErrors& errors);

// Canonical. Inside a container, elements have no kind and apiVersion.
json::Value as_json(const Rule& rule);
json::Value as_json(const Role& role, bool is_inside = false);
json::Value as_json(const RoleBinding& binding, bool is_inside = false);
json::Value as_json(const PolicyDocument& policy);
json::Value as_json(const PolicyBindingDocument& binding);

// The errors of a document. For a container also: keys that differ from names, and bindings to
// another policy than the container's. The caller that has the containers checks whether a role
// exists: `dangling` makes the error.
json::FieldErrors validate(const Rule& rule, const std::string& at, const ResourceGroups& groups);
json::FieldErrors validate(const Role& role, const Place& place, const std::string& at,
                           const ResourceGroups& groups);
json::FieldErrors validate(const RoleBinding& binding, const Place& place, const std::string& at);
json::FieldErrors validate(const PolicyDocument& policy, const Place& place,
                           const ResourceGroups& groups);
json::FieldErrors validate(const PolicyBindingDocument& binding, const Place& place);
// `roleRef: Not found: "hammer/editors"`.
json::FieldError dangling(const RoleRef& role, const std::string& at);

}  // namespace cardea::authz::namespace_policy
