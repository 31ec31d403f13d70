#pragma once
#include "admission/plugin.h"

// What becomes of an object that somebody outside (a policy, a webhook) patched.
namespace cardea::admission {

// The object as its kind reads and completes it, in the version `as` of the request's resource. The
// error is that of the decoder, in Go's words.
Result<json::Value> completed(const json::Value& object, const Review& review,
                              const catalog::Resource& as);

// An error of the server's own making that a client sees: `Internal error occurred: why`, 500.
Error internal_failure(const std::string& why);

}  // namespace cardea::admission
