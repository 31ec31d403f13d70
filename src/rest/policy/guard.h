#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "rest/guards/write_guard.h"

namespace cardea::authz::namespace_policy {
class PolicyAuthorizer;
}

namespace cardea::rest::policy {

// Refuses documents of namespace policy for their content: rules without meaning, containers
// that are created with content, references to missing objects. It also refuses them for their
// writer: users cannot give permissions that they do not have, writing and removing denials
// needs the verb `deny`, and users cannot remove denials from themselves.
class PolicyGuard : public WriteGuard {
 public:
  // The authorizer, which must outlive it, knows the permissions of the caller; null: only
  // system:masters may write roles and bindings.
  PolicyGuard(std::string master, const authz::namespace_policy::PolicyAuthorizer* authorizer)
      : master_(std::move(master)), authorizer_(authorizer) {}
  bool applies(const catalog::Resource& resource) const override;
  Task<Result<void>> check(Call& call, WriteAttempt attempt) const override;
  Task<Result<void>> check_deletion(Call& call, const json::Value& old) const override;

 private:
  const std::string master_;
  const authz::namespace_policy::PolicyAuthorizer* authorizer_;
};

// The error for a write of a whole container, which no verb supports; nullopt for anything
// else.
std::optional<Error> refused_verb(const catalog::Resource& resource, std::string_view verb,
                                  std::string_view name);

}  // namespace cardea::rest::policy
