#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "schema/ownership/field_set.h"
#include "schema/schema.h"

namespace cardea::schema {

constexpr std::size_t kMaxUpdateManagers = 10;

// One entry of metadata.managedFields: a manager and the fields that it owns by one operation.
struct FieldOwner {
  std::string manager;
  bool applied = false;  // operation Apply, else Update
  std::string api_version;
  std::string subresource;
  std::string time;  // RFC 3339 in UTC; empty when there is none
  FieldSet fields;

  // An applier is the same in every version, an updater is another one in each.
  bool is(const FieldOwner& other) const;
  // What sorts owners in messages, as Kubernetes sorts them.
  std::string identity() const;
  // `"kubectl" with subresource "scale" using apps/v1`, as conflicts name an owner.
  std::string description() const;
};

// All owners of an object's fields.
struct ManagedFields {
  std::vector<FieldOwner> owners;

  // metadata.managedFields of an object. Any flaw is a BadRequest; of two entries for one owner the
  // last stands.
  static Result<ManagedFields> parse(const json::Value& list);
  // The same, with no owners as the answer when there is a flaw.
  static ManagedFields parse_or_nobody(const json::Value& list);
  // Sorted as Kubernetes sorts; null when there are no owners.
  json::Value print() const;

  FieldOwner* find(const FieldOwner& like);
  void drop_empty();
  // Joins the oldest updaters of each version as "ancient-changes" until at most kMaxUpdateManagers
  // are left.
  void cap_updaters();
};

// Writes `managed` into an object's metadata, or removes the field when there are no owners.
void set_managed_fields(json::Value& object, const ManagedFields& managed);

// The schema of another version of a custom resource ("example.com/v1beta1"); nullptr when it
// is no longer served. Owners recorded there are dropped with it. When the object does not fit
// that schema, ownership cannot be converted: an update drops all owners, an apply is refused.
// Leave it empty for built-in kinds, whose versions are read as if of one shape.
using VersionSchemas = std::function<const Schema*(std::string_view api_version)>;

// The object in another version of the resource, where a webhook converts: then owners of that
// version own its fields, and are compared there. Nothing: it is not known yet, and what the caller
// gets counts for nothing. Leave it empty where all versions name their fields alike.
using VersionViews = std::function<std::optional<json::Value>(const json::Value& object,
                                                              std::string_view api_version)>;

struct UpdateRequest {
  std::string_view manager;  // see manager_name()
  std::string_view api_version;
  std::string_view subresource;  // "" for the object itself
  std::string_view now;          // RFC 3339, seconds, UTC
  // The fields that the write cannot change because the strategy restores them (status on writes
  // of the object itself): no manager gets to own them.
  const FieldSet* reset_fields = nullptr;
  // The client sent `managedFields: []` or `[{}]`. See clears_managed_fields(): decoding a built-in
  // type drops the empty list, so it has to be noticed before.
  bool clear = false;
  VersionSchemas schema_of = {};
  VersionViews view_of = {};
};

// Whether the metadata.managedFields of a body, as the client sent it, ask to forget all owners.
bool clears_managed_fields(const json::Value& object);

// Create, update and patch: gives the fields that `updated` changed against `old` to the
// manager, and removes them from all other managers. `updated` is decoded and defaulted, but
// not yet changed by admission and the strategy. Without `old` the object is new.
//
// managedFields that the client sends replace the old ones when they are well formed, and are
// dropped silently otherwise; `[]` and `[{}]` clear them, and then nothing is tracked until a
// client applies. A subresource never accepts them from the client. Objects without
// managedFields stay without.
json::Value track_update(const json::Value* old, json::Value updated, const Schema& schema,
                         const UpdateRequest& request);

// The manager of a write: the fieldManager option, else what stands before the first slash of the
// User-Agent, printable and at most 128 bytes, else "unknown".
std::string manager_name(std::string_view field_manager, std::string_view user_agent);

// When `updated` differs from `old` only in times of managedFields, the times of `old` are
// restored, so that a write without effect changes nothing. Call it when `updated` is otherwise
// ready to be stored.
json::Value keep_times_when_unchanged(const json::Value& old, json::Value updated);

// What a write through `subresource` cannot change, for UpdateRequest and ApplyRequest: `status` on
// writes of an object that has a status subresource, everything else on writes of the status.
FieldSet reset_fields(std::string_view group, std::string_view kind, std::string_view subresource,
                      bool is_custom, bool has_status);
// Those of them that really stay unchanged. (The conditions of a certificate request get no
// owner, but a write of its status changes them.)
FieldSet kept_fields(std::string_view group, std::string_view kind, std::string_view subresource,
                     bool is_custom, bool has_status);

// Drops owners of versions that are gone; gives what keeps the object from being read in the
// version of some owner, or "".
std::string unreadable_version(ManagedFields& managed, std::string_view api_version,
                               const json::Value& object, const Schema& schema,
                               const VersionSchemas& schema_of, const VersionViews& view_of = {});

// Paths that no one ever owns: name, uid, resourceVersion and the like.
const FieldSet& unowned_fields();

}  // namespace cardea::schema
