#pragma once
#include <optional>

#include "admission/objects.h"
#include "admission/plugin.h"

// Whether a request is one that a policy, a binding or a webhook speaks of.
namespace cardea::admission {

// The request in the version in which it was found to match.
struct Matched {
  const catalog::Resource* resource;
};

// `match` is a MatchResources; null matches everything. An error: the namespace that must be looked
// at cannot be.
Result<std::optional<Matched>> match_request(const json::Value& match, const Review& review,
                                             const Objects& objects);

// Whether a rule {operations, apiGroups, apiVersions, resources, scope} names the request, taken as
// `resource`.
bool rule_matches(const json::Value& rule, const Review& review, const catalog::Resource& resource);

// Configuration of admission itself, which admission must never keep from being repaired.
bool is_admission_configuration(const Review& review);

}  // namespace cardea::admission
