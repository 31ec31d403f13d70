#pragma once
#include <optional>

#include "authz/user.h"
#include "base/result.h"
#include "http/message.h"

namespace cardea::impersonation {

// The user that the Impersonate-* headers name, with their spelling; nullopt: no impersonation.
// An error (400) when the headers are inconsistent: parts of a user without a name, the name
// twice or empty, text that is not UTF-8, or a `Connection` header that names one of them,
// because a proxy would have removed it (CVE-2021-31999). `is_constrained` chooses between two
// of Kubernetes' wordings.
Result<std::optional<authz::User>> requested_user(const http::Headers& headers,
                                                  bool is_constrained = true);

// Removes the headers: no later station sees them.
void remove_headers(http::Headers& headers);

}  // namespace cardea::impersonation
