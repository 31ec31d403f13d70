#pragma once
#include "base/result.h"
#include "base/task.h"
#include "rest/call.h"

namespace cardea::rest {

// Checks that the object of a request matches its URL.
Result<void> check_name(const Call& call, const json::Value& object);
Result<void> check_namespace(const Call& call, json::Value& object);  // also fills it in
Result<void> check_revision(const Call& call, const json::Value& object,
                            const json::Value& current);

// The object that the URL names, in the version of the URL; 404 when it does not exist.
Result<json::Value> read_current(const Call& call);
// The same where a webhook converts the object.
Task<Result<json::Value>> read_current_by_webhook(const Call& call);

}  // namespace cardea::rest
