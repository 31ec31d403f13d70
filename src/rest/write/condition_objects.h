#pragma once
#include <optional>

#include "admission/plugin.h"
#include "authz/conditions.h"
#include "rest/write/settlement.h"
#include "store/store.h"

namespace cardea::rest {

// The namespace of a request, read when a condition looks at it.
class NamespaceOnDemand : public authz::ObjectOnDemand {
 public:
  NamespaceOnDemand(const store::Store& store, const admission::Review& review)
      : store_(store), review_(review) {}
  const json::Value* get() const override;

 private:
  const store::Store& store_;
  const admission::Review& review_;
  mutable std::optional<json::Value> space_;
};

// The objects that conditions see for a review.
//
// INVARIANT: labels and all other metadata that conditions see are those of the object that the
// request is about. Metadata that the caller writes into another body (an Eviction, a Binding)
// counts for nothing.
struct ConditionObjects {
  json::Value object, old_object;
};
ConditionObjects objects_for_conditions(const store::Store& store, const admission::Review& review);

// Turns `out`, which describes a request for a subresource, into what the request does to the
// object behind it. False: that is not known. The body of a request never stands in for the object,
// unless it is the whole object. `are_stored`: `out` has the objects as they rest in the store.
bool describe_parent(const admission::Review& review, const Settlement::Whole& whole,
                     bool are_stored, authz::ConditionData& out);

}  // namespace cardea::rest
