#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "authz/attributes.h"
#include "base/trie.h"
#include "json/value.h"

namespace cardea::authz::rbac {

inline constexpr std::string_view kGroup = "rbac.authorization.k8s.io";

// One permission of a role, as it is written.
struct PolicyRule {
  std::vector<std::string> verbs, api_groups, resources, resource_names, non_resource_urls;
  bool operator==(const PolicyRule&) const = default;
};

PolicyRule read_rule(const json::Value& rule);
std::vector<PolicyRule> read_rules(const json::Value& rules);
json::Value as_json(const PolicyRule& rule);  // lists without items are left out

// `{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`, as refusals print it.
std::string compact_text(const PolicyRule& rule);

// `/foo/*` matches paths that begin with `/foo/`; several stars at the end count as one.
bool url_matches(std::string_view pattern, std::string_view path);

// A question about rules with its words hashed once. Borrows the attributes.
struct RuleQuery {
  explicit RuleQuery(const Attributes& attributes);

  const Attributes& attributes;
  std::uint32_t verb, api_group, resource, any_resource, name;  // `pods/log`; `*/log`
};

// Why a rule did not match: each part that did not match.
struct Mismatch {
  bool verb = false, api_group = false, resource = false, name = false, url = false;
  bool kind = false;  // a rule for URLs and a request for a resource, or the reverse
};

// A Role or ClusterRole in the form that decisions use: immutable, shared between the states of
// the policy.
class Role : public Counted {
 public:
  // An empty namespace means a ClusterRole.
  Role(std::string_view namespace_name, std::string_view name, std::vector<PolicyRule> rules);

  static std::uint64_t hash(std::string_view namespace_name, std::string_view name);

  bool is_cluster_role() const { return namespace_name_.empty(); }
  const std::string& namespace_name() const { return namespace_name_; }
  const std::string& name() const { return name_; }
  std::uint64_t hash() const { return hash_; }
  const std::vector<PolicyRule>& rules() const { return rules_; }

  // The first rule that allows, or null.
  const PolicyRule* allowing(const RuleQuery& query) const;

 private:
  // A rule's words as hashes, to look through many rules without touching a text.
  struct Words {
    std::uint32_t verbs_end, groups_end, resources_end, names_end;  // in words_; each begins where
                                                                    // the last ended
    bool any_verb, any_group, any_resource;
  };

  bool allows(std::size_t rule, std::uint32_t begin, const RuleQuery& query) const;
  bool allows_url(const PolicyRule& rule, const Attributes& attributes) const;

  std::string namespace_name_, name_;
  std::uint64_t hash_;
  std::vector<PolicyRule> rules_;
  std::vector<Words> words_of_;
  std::vector<std::uint32_t> words_;
};

// The parts of `rule` that do not match.
Mismatch mismatch(const PolicyRule& rule, const Attributes& attributes);
bool rule_allows(const PolicyRule& rule, const Attributes& attributes);

}  // namespace cardea::authz::rbac
