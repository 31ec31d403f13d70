#pragma once
#include <map>
#include <memory>
#include <string>

#include "authz/authorizer.h"
#include "cel/authorizer.h"

namespace cardea::authz {

// Answers what expressions ask through `authorizer`, from a chain. Who can be asked at once is;
// when somebody has to be waited for, the expression gets an error, `is_waiting` says that this
// evaluation counts for nothing, and after `wait` it is run again with the answer at hand.
//
//   do { outcome = run(expression) } while (checks.is_waiting() && await checks.wait());
//
// Belongs to one evaluation. Borrows the chain and the user.
class SecondaryChecks : public cel::AuthorizerInterface {
 public:
  SecondaryChecks(const Chain* chain, const User* user) : chain_(chain), user_(user) {}

  cel::AuthorizationAnswer check(const cel::AuthorizationQuery& query) override;
  bool is_waiting() const { return !missing_.empty(); }
  // Gives true; false when an expression never stops asking.
  Task<bool> wait();

 private:
  const Chain* chain_;
  const User* user_;
  std::map<std::string, cel::AuthorizationAnswer> known_;
  std::map<std::string, std::unique_ptr<OwnedAttributes>> missing_;
};

}  // namespace cardea::authz
