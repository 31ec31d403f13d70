#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "rest/write_guard.h"

namespace cardea::rest::policy {

// Refuses documents of namespace policy for what they say: rules without meaning, containers that are created with content,
// references to what is not there; and for who says it: nobody gives away what they do not have, and denying takes the
// verb `deny`.
class PolicyGuard : public WriteGuard {
 public:
  explicit PolicyGuard(std::string master) : master_(std::move(master)) {}
  bool applies(const catalog::Resource& resource) const override;
  Task<Result<void>> check(Call& call, WriteAttempt attempt) const override;

 private:
  const std::string master_;
};

// What is told to whoever wants to write a container as a whole, which no verb of it does; nullopt for anything else.
std::optional<Error> refused_verb(const catalog::Resource& resource, std::string_view verb, std::string_view name);

}  // namespace cardea::rest::policy
