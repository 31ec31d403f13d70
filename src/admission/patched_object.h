#pragma once
#include "admission/plugin.h"

// How an object is completed after a policy or a webhook patched it.
namespace cardea::admission {

// The object after its kind has read and completed it, in the version `as` of the request's
// resource. The error is that of the decoder, in Go's words.
Result<json::Value> completed(const json::Value& object, const Review& review,
                              const catalog::Resource& as);

// An error of the server's own making that a client sees: `Internal error occurred: why`, 500.
Error internal_failure(const std::string& why);

}  // namespace cardea::admission
