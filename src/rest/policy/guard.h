#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "rest/guards/write_guard.h"

namespace cardea::authz::namespace_policy {
class PolicyAuthorizer;
}

namespace cardea::rest::policy {

// Refuses documents of namespace policy for what they say: rules without meaning, containers that
// are created with content, references to what is not there; and for who says it: nobody gives away
// what they do not have, denying and lifting what is denied take the verb `deny`, and nobody frees
// themselves.
class PolicyGuard : public WriteGuard {
 public:
  // The authorizer, which outlives it, knows what the caller holds; null: only system:masters may
  // write roles and bindings.
  PolicyGuard(std::string master, const authz::namespace_policy::PolicyAuthorizer* authorizer)
      : master_(std::move(master)), authorizer_(authorizer) {}
  bool applies(const catalog::Resource& resource) const override;
  Task<Result<void>> check(Call& call, WriteAttempt attempt) const override;
  Task<Result<void>> check_deletion(Call& call, const json::Value& old) const override;

 private:
  const std::string master_;
  const authz::namespace_policy::PolicyAuthorizer* authorizer_;
};

// What is told to whoever wants to write a container as a whole, which no verb of it does; nullopt
// for anything else.
std::optional<Error> refused_verb(const catalog::Resource& resource, std::string_view verb,
                                  std::string_view name);

}  // namespace cardea::rest::policy
