#pragma once
#include <optional>
#include <string>
#include <vector>

#include "authz/current_chain.h"
#include "authz/user.h"
#include "base/result.h"
#include "base/task.h"
#include "http/message.h"

namespace cardea::impersonation {

// Acting as somebody else: between authentication, which says who sends the request, and authorization, which asks
// whether the one it is sent for may do it.

// The user that the Impersonate-* headers ask for, as they spell it; nullopt: the request is sent for its sender. An
// error (400) when they make no sense: parts of a user without a name, or the name twice or empty.
Result<std::optional<authz::User>> requested_user(const http::Headers& headers);

// Nothing behind this point sees the headers.
void remove_headers(http::Headers& headers);

// One permission that the sender needs. Owns its texts.
struct Check {
  std::string verb, api_group, resource, subresource, namespace_name, name;
  authz::Attributes attributes(const authz::User& sender) const;
};

// What the verb `impersonate` has to be allowed on, in the order in which it is asked: user name, uid, groups, extra.
std::vector<Check> checks_for(const authz::User& asked);

// The user as the request is served for: groups that a name brings with it are added.
authz::User resulting_user(authz::User asked);

// Asks for every permission; the first that is not allowed is the error, a 403. Whatever an authorizer could not
// decide is not allowed.
Task<Result<authz::User>> impersonate(const authz::CurrentChain& chain, const authz::User& sender, authz::User asked);

}  // namespace cardea::impersonation
