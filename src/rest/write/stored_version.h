#pragma once
#include "base/task.h"
#include "rest/call.h"

namespace cardea::rest {

// The version of the request, and the version that is stored.

// `object` as it will be stored over `stored`. Versions of a custom resource may lack each
// other's fields, and a write through a version that lacks a field removes the field, as in
// Kubernetes. Parts that the request cannot write stay as stored: everything that a subresource
// does not change, and the status where it is a subresource.
json::Value stored_form(const Call& call, const json::Value& stored, const json::Value& object);

// The same as bytes. `record` is what it replaces; null: nothing.
std::string bytes_for_store(const Call& call, const store::Record* record,
                            const json::Value& object);

// The object as it will be read back.
json::Value round_trip(const Call& call, json::Value object);

// `stored_form` where a webhook converts. `stored` is the object in the stored version and `old`
// the same object in the version of the request; both are null for a new object.
Task<Result<json::Value>> stored_form_by_webhook(const Call& call, json::Value stored,
                                                 json::Value old, json::Value object);

// Shows the stored object, and its new state by `object`, to the conditions of this call, where
// the version of the request does not show all fields.
void show_what_is_hidden(Call& call, const store::Record& record, const json::Value& object);

}  // namespace cardea::rest
