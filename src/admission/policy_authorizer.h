#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "authz/attributes.h"
#include "base/task.h"
#include "cel/authorizer.h"

namespace cardea::authz {
class CurrentChain;
}
namespace cardea::net {
class Loop;
}

namespace cardea::admission {

// The `authorizer` of one request's policies: remembers every answer, so that a question is asked once.
//
// Nobody blocks: an authorizer that has to wait leaves its question open, the evaluation that asked counts for
// nothing, and after settle() it is done again with the answer at hand. An open question never allows.
class PolicyAuthorizer : public cel::AuthorizerInterface {
 public:
  // Both must outlive it.
  PolicyAuthorizer(const authz::CurrentChain& chain, const authz::User& user) : chain_(chain), user_(user) {}

  cel::AuthorizationAnswer check(const cel::AuthorizationQuery& query) override;
  bool has_open_question() const { return open_.has_value(); }
  // Goes on there, when whoever answered did so on a thread of its own.
  Task<bool> settle(net::Loop* loop);

 private:
  // A question with texts of its own.
  struct Question {
    std::string key;
    authz::User user;
    bool is_resource_request = true;
    std::string path, verb, group, resource, subresource, space, name;
    std::shared_ptr<const authz::Selectors> selectors;
    authz::Attributes attributes() const;
  };
  Question question(const cel::AuthorizationQuery& query) const;

  const authz::CurrentChain& chain_;
  const authz::User& user_;
  std::map<std::string, cel::AuthorizationAnswer> answers_;
  std::optional<Question> open_;
};

}  // namespace cardea::admission
