#pragma once
#include <optional>

#include "admission/objects.h"
#include "admission/plugin.h"

// Whether a policy, a binding or a webhook applies to a request.
namespace cardea::admission {

// The request in the version that matched.
struct Matched {
  const catalog::Resource* resource;
};

// `match` is a MatchResources; null matches everything. An error: the namespace, which is
// needed for the match, cannot be read.
Result<std::optional<Matched>> match_request(const json::Value& match, const Review& review,
                                             const Objects& objects);

// What a rule is compared with.
struct RuleTarget {
  std::string_view operation;  // "CREATE"
  std::string_view group, version, resource, subresource;
  bool is_namespaced = false;  // a namespace itself is not
};

// Whether a rule {operations, apiGroups, apiVersions, resources, scope} matches.
bool rule_matches(const json::Value& rule, const RuleTarget& target);

// Whether a rule {operations, apiGroups, apiVersions, resources, scope} matches the request
// when it is read as `resource`.
bool rule_matches(const json::Value& rule, const Review& review, const catalog::Resource& resource);

// Configuration of admission itself. Admission never applies to it, so that it can always be
// repaired.
bool is_admission_configuration(const Review& review);

}  // namespace cardea::admission
