#pragma once
#include <map>
#include <memory>
#include <string>

#include "authz/authorizer.h"
#include "cel/authorizer.h"

namespace cardea::authz {

// Answers the questions that expressions ask through `authorizer`, from a chain. Authorizers that
// can answer at once are asked at once. When one has to wait, the expression gets an error,
// `is_waiting` says that this evaluation does not count, and after `wait` the expression is
// evaluated again with the answer.
//
//   do { outcome = run(expression) } while (checks.is_waiting() && await checks.wait());
//
// Belongs to one evaluation. Borrows the chain and the user.
class SecondaryChecks : public cel::AuthorizerInterface {
 public:
  SecondaryChecks(const Chain* chain, const User* user) : chain_(chain), user_(user) {}

  cel::AuthorizationAnswer check(const cel::AuthorizationQuery& query) override;
  bool is_waiting() const { return !missing_.empty(); }
  // Returns true; false when an expression never stops asking.
  Task<bool> wait();

 private:
  const Chain* chain_;
  const User* user_;
  std::map<std::string, cel::AuthorizationAnswer> known_;
  std::map<std::string, std::unique_ptr<OwnedAttributes>> missing_;
};

}  // namespace cardea::authz
