#pragma once
#include "base/result.h"
#include "rest/call.h"

namespace cardea::rest {

// What an object must have in common with the request that brings it.
Result<void> check_name(const Call& call, const json::Value& object);
Result<void> check_namespace(const Call& call, json::Value& object);  // also fills it in
Result<void> check_revision(const Call& call, const json::Value& object,
                            const json::Value& current);

// The object the URL names, in the version of the URL; 404 when there is none.
Result<json::Value> read_current(const Call& call);

}  // namespace cardea::rest
