#include "schema/ownership/apply.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "json/parse.h"
#include "json/print.h"
#include "schema/ownership/compare.h"
#include "schema/ownership/merge.h"
#include "schema/ownership/versions.h"

namespace cardea::schema {

using json::Value;

namespace {

constexpr std::string_view kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";
constexpr std::size_t kMaxAnnotationBytes = 256 * 1024;

struct Conflict {
  FieldPath path;
  const FieldOwner* owner;
};

// "apps/v1, Kind=Deployment", "/v1, Kind=Pod": how Kubernetes prints what an object claims to be.
std::string kind_text(const Value& object) {
  std::string_view version = object["apiVersion"].as_string();
  return cat(version.contains('/') ? "" : "/", version, ", Kind=", object["kind"].as_string());
}

Result<bool> check_config(const Value& config, const Schema& schema, const ApplyRequest& request) {
  if (config["apiVersion"].as_string() != request.api_version ||
      config["kind"].as_string() != request.kind)
    return fail(bad_request(cat("invalid object type: ", kind_text(config))));
  if (!config["metadata"]["managedFields"].is_null())
    return fail(bad_request("metadata.managedFields must be nil"));
  auto errors = type_errors(config, schema);
  if (errors.empty()) return true;
  const Value& metadata = config["metadata"];
  return fail(
      bad_request(cat("failed to create typed patch object (", metadata["namespace"].as_string(),
                      "/", metadata["name"].as_string(), "; ", kind_text(config),
                      "): ", errors.size() == 1 ? "" : "errors:\n  ", join(errors, "\n  "))));
}

Error conflict_error(const std::vector<Conflict>& conflicts) {
  std::map<std::string, std::vector<const Conflict*>> by_owner;
  for (const Conflict& conflict : conflicts)
    by_owner[conflict.owner->identity()].push_back(&conflict);
  ErrorDetails details;
  std::vector<std::string> lines;
  for (const auto& [identity, mine] : by_owner) {
    std::string owner = mine[0]->owner->description();
    lines.push_back(cat("conflicts with ", owner, ":"));
    for (const Conflict* conflict : mine) {
      lines.push_back(cat("- ", path_text(conflict->path)));
      details.causes.push_back(
          {"FieldManagerConflict", cat("conflict with ", owner), path_text(conflict->path)});
    }
  }
  std::string message = conflicts.size() == 1
                            ? cat("Apply failed with 1 conflict: ", details.causes[0].message, ": ",
                                  details.causes[0].field)
                            : cat("Apply failed with ", conflicts.size(),
                                  " conflicts: ", join(lines, "\n"));
  return Error::of(Reason::kConflict, std::move(message)).with(std::move(details));
}

// Removes the fields that the manager applied last time and does not apply now, except those that
// others own.
Value prune(const Value& merged, const ManagedFields& managed, const FieldSet& last,
            const FieldSet& applied, const Schema& schema) {
  if (last.difference(applied).empty()) return merged;
  FieldSet before = last.with_named_fields(schema);
  FieldSet all = field_set_of(merged, schema).with_named_fields(schema);
  FieldSet owned;
  for (const FieldOwner& owner : managed.owners) owned = owned.union_with(owner.fields);
  auto fields_of = [&](const Value& value) {
    return field_set_of(value, schema).with_named_fields(schema);
  };

  Value pruned = without(merged, before, schema);
  pruned = without(merged,
                   all.difference(fields_of(pruned).union_with(owned.with_named_fields(schema))),
                   schema);
  return without(merged, all.difference(fields_of(pruned)).intersection(before), schema);
}

// kubectl's client-side apply wrote down what it applied. Fields that are still so may be taken
// over without a conflict when kubectl comes back with server-side apply.
FieldSet applied_by_client(const Value& live, const Schema& schema, const ApplyRequest& request) {
  const Value& annotation = live["metadata"]["annotations"][kLastApplied];
  if (!annotation.is_string() || annotation.as_string().empty()) return {};
  auto config = json::parse(annotation.as_string());
  if (!config || (*config)["apiVersion"].as_string() != request.api_version) return {};
  if (!type_errors(*config, schema).empty()) return {};
  Comparison changes = compare(*config, live, schema);
  return field_set_of(*config, schema)
      .difference(changes.modified)
      .difference(changes.added)
      .difference(changes.removed);
}

void renew_last_applied(Value& object, Value config) {
  if (!object["metadata"]["annotations"].has(kLastApplied)) return;
  if (config["metadata"]["annotations"].has(kLastApplied))
    config.member("metadata").member("annotations").erase(kLastApplied);
  Value& annotations = object.member("metadata").member("annotations");
  annotations.set(kLastApplied, json::print(config) + "\n");
  std::size_t bytes = 0;
  for (const json::Member& member : annotations.members())
    bytes += member.key().size() + member.value.as_string().size();
  if (bytes > kMaxAnnotationBytes) annotations.erase(kLastApplied);
}

// Owners of an object that was never applied: all its fields belong to one earlier manager.
ManagedFields first_owners(const Value& live, const Schema& schema, const ApplyRequest& request) {
  UpdateRequest before{"before-first-apply", request.api_version, request.subresource, request.now,
                       request.reset_fields};
  Value object = live;
  if (object["metadata"].has("managedFields")) object.member("metadata").erase("managedFields");
  return ManagedFields::parse_or_nobody(
      track_update(nullptr, object, schema, before)["metadata"]["managedFields"]);
}

// A conversion is missing: the caller waits for it, and asks again.
std::unexpected<Error> not_known_yet() {
  return fail(internal_error("the object is not known in all versions yet"));
}

}  // namespace

Result<Value> apply(const Value* live, const Value& config, const Schema& schema,
                    const ApplyRequest& request) {
  if (auto checked = check_config(config, schema, request); !checked) return fail(checked.error());
  const FieldSet nothing;
  const FieldSet& reset = request.reset_fields ? *request.reset_fields : nothing;

  ManagedFields managed;
  Value before = live ? *live : Value::object();
  if (live) {
    managed = ManagedFields::parse_or_nobody(before["metadata"]["managedFields"]);
    if (managed.owners.empty()) managed = first_owners(before, schema, request);
    if (before["metadata"].has("managedFields")) before.member("metadata").erase("managedFields");
  }
  if (auto flaw = unreadable_version(managed, request.api_version, before, schema,
                                     request.schema_of, request.view_of);
      !flaw.empty())
    return fail(bad_request(flaw));
  auto schema_for = [&](const FieldOwner& owner) -> const Schema& {
    const bool has_own = request.view_of && owner.api_version != request.api_version;
    return has_own ? *request.schema_of(owner.api_version) : schema;
  };
  for (FieldOwner& owner : managed.owners) owner.fields = owner.fields.fitted_to(schema_for(owner));

  FieldOwner self{std::string(request.manager),
                  true,
                  std::string(request.api_version),
                  std::string(request.subresource),
                  "",
                  field_set_of(config, schema).recursive_difference(reset)};
  FieldOwner last;
  if (FieldOwner* known = managed.find(self)) {
    last = *known;
    self.time = known->time;
    *known = self;
  } else {
    managed.owners.push_back(self);
  }

  Value after = merge(before, config, schema);
  // What this manager applied before is not something that the request names.
  if (!request.owners_decide) {
    const bool is_elsewhere = request.view_of && !last.fields.empty() &&
                              last.api_version != request.api_version;
    std::optional<Value> pruned = is_elsewhere
                                      ? pruned_across_versions(after, managed, last,
                                                               request.api_version, schema,
                                                               request.schema_of, request.view_of)
                                      : prune(after, managed, last.fields, self.fields, schema);
    if (!pruned) return not_known_yet();
    after = std::move(*pruned);
  }
  VersionedChanges changes(before, after, schema, request.api_version, &reset, request.schema_of,
                           request.view_of);
  std::vector<Conflict> conflicts;
  for (const FieldOwner& owner : managed.owners) {
    if (owner.is(self)) continue;
    const Comparison* seen = changes.changes_for(owner);
    if (!seen) return not_known_yet();
    FieldSet taken = seen->modified.union_with(seen->added);
    if (request.owners_decide) {
      taken = self.fields;
      if (const Schema& theirs = schema_for(owner); &theirs != &schema) {
        std::optional<Value> named = request.view_of(config, owner.api_version);
        if (!named) return not_known_yet();
        taken = field_set_of(*named, theirs).recursive_difference(reset);
      }
    }
    owner.fields.intersection(taken).for_each(
        [&](const FieldPath& path) { conflicts.push_back({path, &owner}); });
  }
  if (!conflicts.empty() && !request.force) {
    FieldSet allowed;
    if (request.manager == "kubectl" && !request.owners_decide)
      allowed = applied_by_client(before, schema, request);
    std::erase_if(conflicts, [&](const Conflict& conflict) { return allowed.has(conflict.path); });
    if (!conflicts.empty()) return fail(conflict_error(conflicts));
  }

  for (FieldOwner& owner : managed.owners) {
    if (owner.is(self)) {
      owner.fields = owner.fields.difference(unowned_fields());
      continue;
    }
    const Comparison& seen = *changes.changes_for(owner);
    owner.fields = owner.fields.difference(seen.modified.union_with(seen.added))
                       .difference(seen.removed);
  }
  managed.drop_empty();
  bool changed = !live || !same_content(before, after);
  if (!changed) after = before;
  if (FieldOwner* known = managed.find(self); known && changed) known->time = request.now;
  if (request.manager == "kubectl" && !request.owners_decide) renew_last_applied(after, config);
  set_managed_fields(after, managed);
  return after;
}

}  // namespace cardea::schema
