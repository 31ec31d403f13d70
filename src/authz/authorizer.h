#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "authz/decision.h"
#include "authz/request_info.h"
#include "authz/user.h"
#include "base/task.h"

namespace cardea::authz {

// The question: may `user` do what `request` says? Borrows both.
struct Attributes {
  const User& user;
  const RequestInfo& request;
};

// Decides whether an identity may perform an action. Allow and Deny are final; NoOpinion passes the
// question on. One that cannot decide says NoOpinion with the reason, it never guesses Allow.
//
// Most answer from memory at once. One that has to ask elsewhere answers nullopt from `authorize` and is
// then asked with `authorize_waiting`. Instances are shared between threads.
class Authorizer {
 public:
  virtual ~Authorizer() = default;
  virtual std::string_view name() const = 0;
  virtual std::optional<Decision> authorize(const Attributes& attributes) const = 0;
  virtual Task<Decision> authorize_waiting(Attributes attributes) const;
};

// The proof that authorization ran and allowed. Only a Chain makes one; every verb asks for one.
class Permit {
 public:
  const std::string& reason() const { return reason_; }

 private:
  friend class Chain;
  explicit Permit(std::string reason) : reason_(std::move(reason)) {}
  std::string reason_;
};

// Authorizers in order; the first Allow or Deny wins. An empty chain has no opinion, which allows nothing.
class Chain {
 public:
  explicit Chain(std::vector<std::unique_ptr<Authorizer>> authorizers) : authorizers_(std::move(authorizers)) {}

  struct Verdict {
    Decision decision;
    std::optional<Permit> permit;  // present exactly when the decision allows
  };
  Task<Verdict> authorize(Attributes attributes) const;

 private:
  std::vector<std::unique_ptr<Authorizer>> authorizers_;
};

std::unique_ptr<Authorizer> masters_authorizer();  // allows the group system:masters, asked first
std::unique_ptr<Authorizer> always_allow();
std::unique_ptr<Authorizer> always_deny();
// A mode that this version knows by name only: it never has an opinion.
std::unique_ptr<Authorizer> unavailable_mode(std::string mode);

// The text of a 403: `pods "x" is forbidden: User "jane" cannot get resource "pods" in API group "" ...`.
Error forbidden(const Attributes& attributes, const std::string& reason);

}  // namespace cardea::authz
