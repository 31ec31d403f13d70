#pragma once
#include "app/kube_client.h"

namespace cardea::app {

// The user that a review is about, as its spec says it: the one that --as and its companions name,
// with the groups that authentication would add; else the caller.
Result<json::Value> asked_user(KubeClient& server, const ServerChoice& choice);

// The user that --as and its companions name, and nothing else.
json::Value named_user(const ServerChoice& choice);

// The same server with the caller's own credentials alone: a review names the user, and nobody has
// to be impersonated.
ServerChoice without_user(const ServerChoice& choice);

}  // namespace cardea::app
