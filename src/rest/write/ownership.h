#pragma once
#include <string>

#include "rest/call.h"
#include "rest/verbs/options.h"
#include "schema/ownership/field_set.h"
#include "schema/ownership/managed_fields.h"

namespace cardea::rest {

// Who owns which fields of an object: metadata.managedFields.

// The object with its owners recorded: the fields that this write changed belong to its field
// manager. Before admission: changes by the server itself have no owner. Owners in the body are
// accepted, unless the caller continues with the verb `granular`.
json::Value tracked(Call& call, const json::Value* old, json::Value object,
                    const WriteOptions& options);

// The same for a caller that conditions left to `granular` after the owners were computed: `sent`
// is the object as it was before that, `object` gets the owners that a granular caller leaves.
void track_as_granular(Call& call, const json::Value* old, json::Value& object, json::Value sent,
                       const WriteOptions& options);

// No permission on fields guards `generateName` of an object that is there: whoever continues with
// `granular` does not change it.
void keep_generate_name(json::Value& object, const json::Value& old);
// Owners that mutation left unreadable are as they were before.
void keep_owners(Call& call, json::Value& object, const json::Value& before);

// The field manager of a write: what the URL says, else the first word of the User-Agent.
std::string field_manager(Call& call, const WriteOptions& options);

// The shapes of a custom resource's versions, for ownership recorded under another one.
schema::VersionSchemas version_schemas(const Call& call);

// The same for objects, where a webhook converts. What is not known yet is noted in
// `call.conversions`.
schema::VersionViews version_views(const Call& call);

// The parts that this write cannot change, for ownership.
schema::FieldSet reset_fields(const Call& call);

}  // namespace cardea::rest
