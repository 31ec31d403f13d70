#pragma once
#include "base/result.h"
#include "rest/call.h"

namespace cardea::rest {

// The parts of `metadata` that only the server writes.

// Takes away what only the server may say about a new object: plugins that mutate it do not see it
// yet.
void clear_system_fields(const Call& call, json::Value& object);
// Whatever mutation made of it.
Result<void> set_system_fields(Call& call, json::Value& object);
// Gives a new object a name where it has a prefix of one.
void generate_name(Call& call, json::Value& object);
// What stays as it was, whatever the client sent.
void keep_system_fields(json::Value& object, const json::Value& old);
// Whether an update was sent with the uid, resourceVersion and creationTimestamp of `old`.
bool keeps_identity(const json::Value& object, const json::Value& old);

json::Value with_revision(json::Value object, store::Revision revision);

// Whether the change counts as a new generation.
bool differs_in_generation(const catalog::Resource& resource, const json::Value& a,
                           const json::Value& b);
// Whether nothing holds an object any more that is being deleted.
bool is_gone_after(const json::Value& object);

}  // namespace cardea::rest
