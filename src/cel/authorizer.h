#pragma once
#include <string>
#include <string_view>

#include "cel/eval/value.h"

namespace cardea::cel {

// What an expression asks with `authorizer. ... .check(verb)`.
struct AuthorizationQuery {
  bool resource_request = true;
  std::string_view path;                                             // of a non-resource request
  std::string_view verb, group, resource, subresource, space, name;  // `space` is the namespace
  std::string_view field_selector, label_selector;                   // as written
  bool has_field_selector = false;
  bool has_label_selector = false;
  std::string_view service_account_namespace, service_account_name;  // set: ask for this account,
                                                                     // not the requester
};

struct AuthorizationAnswer {
  enum Decision { kDeny, kAllow, kNoOpinion };
  Decision decision = kDeny;
  std::string reason;
  std::string error;  // not empty: the authorizer failed
};

// Answers the questions. Called on the thread that evaluates, possibly several times. It may block.
class AuthorizerInterface {
 public:
  virtual ~AuthorizerInterface() = default;
  virtual AuthorizationAnswer check(const AuthorizationQuery& query) = 0;
};

// Storage behind the variables `authorizer` and `authorizer.requestResource`; must outlive the
// evaluation.
struct AuthorizerHandle {
  AuthorizerInterface* asks = nullptr;
  AuthorizationQuery query;
};
inline Value authorizer_value(const AuthorizerHandle& handle) {
  return Value::of_opaque(Kind::kAuthorizer, &handle);
}
inline Value resource_check_value(const AuthorizerHandle& handle) {
  return Value::of_opaque(Kind::kResourceCheck, &handle);
}

}  // namespace cardea::cel
