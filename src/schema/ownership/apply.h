#pragma once
#include <string_view>

#include "base/result.h"
#include "json/value.h"
#include "schema/ownership/field_set.h"
#include "schema/ownership/managed_fields.h"
#include "schema/schema.h"

namespace cardea::schema {

struct ApplyRequest {
  std::string_view manager;  // never empty: the caller asks for it
  bool force = false;
  std::string_view api_version;  // of the URL: "apps/v1"
  std::string_view kind;
  std::string_view subresource;
  std::string_view now;                    // RFC 3339, seconds, UTC
  const FieldSet* reset_fields = nullptr;  // as in UpdateRequest
  VersionSchemas schema_of = {};           // as in UpdateRequest
  VersionViews view_of = {};               // as in UpdateRequest
  // For a client that may not read the object. A field of another owner is a conflict even if its
  // value would stay, and only fields that the config names change: so the result shows nothing
  // about values.
  bool owners_decide = false;
};

// Server-side apply: the live object with the config's fields, owned by the manager; without the
// fields that the manager applied before and no longer applies, unless another manager owns them.
// Without `live` the object is new and the result is the config. The result is neither defaulted
// nor validated.
//
// Errors:
//  - BadRequest for a config of another kind or version, with managedFields, or that the schema
//  does
//    not allow (unknown fields, wrong types, duplicate keys);
//  - Conflict with one cause per field when others own what the config changes, unless forced.
//
// When the manager owns the same fields as before and nothing changed, the result equals `live`
// except for a time in managedFields, which keep_times_when_unchanged() restores when the object is
// ready to be stored.
//
// Ownership recorded under other versions is read as if it were of this one, but see
// VersionSchemas.
Result<json::Value> apply(const json::Value* live, const json::Value& config, const Schema& schema,
                          const ApplyRequest& request);

}  // namespace cardea::schema
