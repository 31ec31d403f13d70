#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "authz/authorizer.h"

namespace cardea::authz::node {

// What must hold for the objects that a node writes: the rules of the admission plugin
// NodeRestriction as conditions in CEL, so that authorization decides, and access reviews show it.
//
// Tokens of service accounts and signing requests have none here: what is checked about them is not
// in the object (the pod that a token is bound to) or not in its fields (the name in a
// certificate). They stay with the plugin. So do writes that the name in the URL decides.
//
// Immutable, shared between threads.
class WriteConditions {
 public:
  // The uid of a Node object; empty: there is none.
  using Uids = std::string (*)(const void* from, std::string_view node);
  WriteConditions(Uids uids, const void* from) : uids_(uids), from_(from) {}

  // `allowed`, a decision about a request of `node`, as far as the object does not matter; else the
  // condition. No opinion when the request cannot become allowed.
  Decision on(Decision allowed, const Attributes& asked, std::string_view node) const;

  // Whether the object decides about such a request.
  static bool concern(const Attributes& asked);
  // Settles such conditions.
  static Task<Decision> settle(std::shared_ptr<const Conditions> conditions,
                               const ConditionData& data);

 private:
  Uids uids_;
  const void* from_;
};

}  // namespace cardea::authz::node
