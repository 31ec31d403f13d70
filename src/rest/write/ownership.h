#pragma once
#include <string>

#include "rest/call.h"
#include "rest/verbs/options.h"
#include "schema/ownership/field_set.h"
#include "schema/ownership/managed_fields.h"

namespace cardea::rest {

// Who owns which fields of an object: metadata.managedFields.

// The object with its owners recorded: what this write changed belongs to its field manager. Before
// admission: what the server itself changes belongs to nobody. Owners that the body brings are
// taken, unless its sender goes on with the verb `granular`.
json::Value tracked(Call& call, const json::Value* old, json::Value object,
                    const WriteOptions& options);

// The same for a caller whom conditions left to `granular` after the owners were worked out: `sent`
// is the object as it was before that, `object` gets the owners that a granular caller leaves.
void track_as_granular(Call& call, const json::Value* old, json::Value& object, json::Value sent,
                       const WriteOptions& options);

// Owners that mutation left unreadable are as they were before.
void keep_owners(Call& call, json::Value& object, const json::Value& before);

// The field manager of a write: what the URL says, else the first word of the User-Agent.
std::string field_manager(Call& call, const WriteOptions& options);

// The shapes of a custom resource's versions, for ownership recorded under another one.
schema::VersionSchemas version_schemas(const Call& call);

// What this write cannot change whatever it says, to ownership; and what really stays as it was.
schema::FieldSet reset_fields(const Call& call);
schema::FieldSet kept_fields(const Call& call);

}  // namespace cardea::rest
