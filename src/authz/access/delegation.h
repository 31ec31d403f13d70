#pragma once
#include <string_view>
#include <vector>

#include "authz/access/index.h"
#include "authz/rbac/rule.h"
#include "cel/partial/partial.h"

namespace cardea::authz::access {

// The permissions that access policies give to one user under conditions, for the question what the
// user may give to others: a permission, under the same condition or a stronger one.
//
// A condition counts as it is for this user: what it says about the user of the request is
// evaluated at once, and a condition that asks for other permissions of the user (`authorizer`)
// cannot be given away. Whether one condition is stronger than another is proved
// (cel/partial/implication.h); what cannot be proved is not held. Denials are not looked at.
// Borrows the index.
class ConditionalHoldings {
 public:
  // Of `user` in a namespace; empty: in the whole cluster.
  ConditionalHoldings(const Index& index, const User& user, std::string_view namespace_name);

  // Whether the user is allowed every request of this permission whenever the expression of
  // `given`, for whichever user, is true.
  bool hold(const rbac::PolicyRule& permission, const Policy& given) const;
  // Whether the user has the permission under some condition, for a message.
  bool hold_sometimes(const rbac::PolicyRule& permission) const;

 private:
  struct Held {
    const Policy* policy;
    cel::Residual condition;
    bool covers(const rbac::PolicyRule& permission) const;
  };
  std::string_view namespace_name_;
  std::vector<Held> held_;
};

}  // namespace cardea::authz::access
