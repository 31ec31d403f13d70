#pragma once
#include <optional>

#include "authz/user.h"
#include "base/result.h"
#include "http/message.h"

namespace cardea::impersonation {

// The user that the Impersonate-* headers ask for, as they spell it; nullopt: the request is sent
// for its sender. An error (400) when they make no sense: parts of a user without a name, the name
// twice or empty, text that is not UTF-8, or a `Connection` header that names one of them, so that
// a proxy on the way would have taken it off (CVE-2021-31999). `is_constrained` chooses between two
// of Kubernetes' wordings.
Result<std::optional<authz::User>> requested_user(const http::Headers& headers,
                                                  bool is_constrained = true);

// Nothing behind this point sees the headers.
void remove_headers(http::Headers& headers);

}  // namespace cardea::impersonation
