#include "schema/ownership/managed_fields.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/strings.h"
#include "json/print.h"
#include "schema/ownership/compare.h"
#include "schema/ownership/merge.h"
#include "schema/ownership/versions.h"
#include "schema/wire/decode.h"

namespace cardea::schema {

using json::Value;

bool FieldOwner::is(const FieldOwner& other) const {
  return manager == other.manager && applied == other.applied && subresource == other.subresource &&
         (applied || api_version == other.api_version);
}

std::string FieldOwner::identity() const {
  std::string out = "{\"manager\":";
  json::print_string_to(out, manager);
  out += applied ? ",\"operation\":\"Apply\"" : ",\"operation\":\"Update\",\"apiVersion\":";
  if (!applied) json::print_string_to(out, api_version);
  if (!subresource.empty()) {
    out += ",\"subresource\":";
    json::print_string_to(out, subresource);
  }
  return out + "}";
}

std::string FieldOwner::description() const {
  std::string out = quoted(manager);
  if (!subresource.empty()) out += cat(" with subresource ", quoted(subresource));
  if (!applied) out += cat(" using ", api_version);
  return out;
}

Result<ManagedFields> ManagedFields::parse(const Value& list) {
  ManagedFields out;
  if (list.is_null()) return out;
  if (!list.is_array()) return fail(bad_request("managedFields must be a list"));
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Value& entry = list[i];
    std::string_view operation = entry["operation"].as_string(),
                     type = entry["fieldsType"].as_string();
    if (operation != "Apply" && operation != "Update")
      return fail(bad_request("operation must be `Apply` or `Update`"));
    if (entry["apiVersion"].as_string().empty())
      return fail(bad_request("apiVersion must not be empty"));
    if (type != "FieldsV1")
      return fail(bad_request(
          type.empty() ? cat("missing fieldsType in managed fields entry ", i)
                       : cat("invalid fieldsType ", quoted(type), " in managed fields entry ", i)));
    auto fields = FieldSet::parse(entry["fieldsV1"]);
    if (!fields) return fail(fields.error());
    FieldOwner owner{
        std::string(entry["manager"].as_string()),    operation == "Apply",
        std::string(entry["apiVersion"].as_string()), std::string(entry["subresource"].as_string()),
        std::string(entry["time"].as_string()),       std::move(*fields)};
    if (FieldOwner* known = out.find(owner))
      *known = std::move(owner);
    else
      out.owners.push_back(std::move(owner));
  }
  return out;
}

ManagedFields ManagedFields::parse_or_nobody(const Value& list) {
  auto parsed = parse(list);
  return parsed ? std::move(*parsed) : ManagedFields();
}

Value ManagedFields::print() const {
  if (owners.empty()) return Value();
  std::vector<const FieldOwner*> sorted;
  for (const FieldOwner& owner : owners) sorted.push_back(&owner);
  std::sort(sorted.begin(), sorted.end(), [](const FieldOwner* a, const FieldOwner* b) {
    auto rank = [](const FieldOwner* o) {  // "Apply" sorts before "Update"
      return std::tie(o->time, o->manager, o->api_version, o->subresource);
    };
    return a->applied != b->applied ? a->applied : rank(a) < rank(b);
  });
  std::vector<Value> entries;
  for (const FieldOwner* owner : sorted) {
    std::vector<json::Member> members = {{"apiVersion", owner->api_version},
                                         {"fieldsType", "FieldsV1"},
                                         {"fieldsV1", owner->fields.fields_v1()}};
    if (!owner->manager.empty()) members.push_back({"manager", owner->manager});
    members.push_back({"operation", owner->applied ? "Apply" : "Update"});
    if (!owner->subresource.empty()) members.push_back({"subresource", owner->subresource});
    if (!owner->time.empty()) members.push_back({"time", owner->time});
    entries.push_back(Value::object(std::move(members)));
  }
  return Value::array(std::move(entries));
}

FieldOwner* ManagedFields::find(const FieldOwner& like) {
  for (FieldOwner& owner : owners)
    if (owner.is(like)) return &owner;
  return nullptr;
}

void ManagedFields::drop_empty() {
  std::erase_if(owners, [](const FieldOwner& owner) { return owner.fields.empty(); });
}

void ManagedFields::cap_updaters() {
  std::vector<std::pair<std::string, FieldOwner>> updaters;  // by time, oldest first
  for (const FieldOwner& owner : owners)
    if (!owner.applied) updaters.emplace_back(owner.identity(), owner);
  if (updaters.size() <= kMaxUpdateManagers) return;
  std::sort(updaters.begin(), updaters.end(), [](const auto& a, const auto& b) {
    return std::tie(a.second.time, a.first) < std::tie(b.second.time, b.first);
  });
  std::size_t left = updaters.size();
  std::map<std::string, FieldOwner> first_of_version;
  for (const auto& [identity, updater] : updaters) {
    if (left <= kMaxUpdateManagers) break;
    auto [first, is_first] = first_of_version.try_emplace(updater.api_version, updater);
    if (is_first) continue;
    FieldOwner bucket{"ancient-changes", false, updater.api_version, "", "", {}};
    if (!find(bucket)) {
      std::erase_if(owners, [&](const FieldOwner& o) { return o.is(first->second); });
      bucket.fields = first->second.fields;
      owners.push_back(bucket);
    }
    FieldOwner merged = *find(bucket);
    merged.fields = merged.fields.union_with(updater.fields);
    merged.time = updater.time;
    if (!updater.is(merged))
      std::erase_if(owners, [&](const FieldOwner& o) { return o.is(updater); });
    *find(bucket) = std::move(merged);
    --left;
  }
}

void set_managed_fields(Value& object, const ManagedFields& managed) {
  Value list = managed.print();
  if (!list.is_null())
    object.member("metadata").set("managedFields", std::move(list));
  else if (object["metadata"].has("managedFields"))
    object.member("metadata").erase("managedFields");
}

const FieldSet& unowned_fields() {
  static const FieldSet fields = FieldSet::of({{"f:apiVersion"},
                                               {"f:kind"},
                                               {"f:metadata"},
                                               {"f:metadata", "f:name"},
                                               {"f:metadata", "f:namespace"},
                                               {"f:metadata", "f:creationTimestamp"},
                                               {"f:metadata", "f:selfLink"},
                                               {"f:metadata", "f:uid"},
                                               {"f:metadata", "f:clusterName"},
                                               {"f:metadata", "f:generation"},
                                               {"f:metadata", "f:managedFields"},
                                               {"f:metadata", "f:resourceVersion"}});
  return fields;
}

namespace {

// The most owners that are read from a body: comparing owners costs the square of their number.
constexpr std::size_t kMostSentOwners = 1000;

ManagedFields owners_before(const Value* old, const Value& updated, const UpdateRequest& request) {
  const Value* sent = updated["metadata"].find("managedFields");
  if (request.subresource.empty() && (request.clear || clears_managed_fields(updated))) return {};
  if (request.subresource.empty() && sent) {
    ManagedFields managed = sent->size() <= kMostSentOwners ? ManagedFields::parse_or_nobody(*sent)
                                                            : ManagedFields();
    if (!managed.owners.empty()) return managed;
  }
  return old ? ManagedFields::parse_or_nobody((*old)["metadata"]["managedFields"])
             : ManagedFields();
}

Value without_managed_fields(const Value& object) {
  if (!object["metadata"].has("managedFields")) return object;
  Value out = object;
  out.member("metadata").erase("managedFields");
  return out;
}

}  // namespace

bool clears_managed_fields(const Value& object) {
  const Value* list = object["metadata"].find("managedFields");
  if (!list || !list->is_array()) return false;
  return list->empty() ||
         (list->size() == 1 && list->items()[0].is_object() && list->items()[0].empty());
}

std::string unreadable_version(ManagedFields& managed, std::string_view api_version,
                               const Value& object, const Schema& schema,
                               const VersionSchemas& schema_of, const VersionViews& view_of) {
  if (!schema_of) return "";
  std::map<std::string, bool> known;
  for (const FieldOwner& owner : managed.owners) {
    if (owner.api_version == api_version || known.contains(owner.api_version)) continue;
    const Schema* other = schema_of(owner.api_version);
    known[owner.api_version] = other != nullptr;
    // A webhook makes the object fit.
    if (!other || other == &schema || view_of) continue;
    if (auto errors = type_errors(object, *other); !errors.empty()) return errors[0];
  }
  std::erase_if(managed.owners, [&](const FieldOwner& owner) {
    auto at = known.find(owner.api_version);
    return at != known.end() && !at->second;
  });
  return "";
}

Value track_update(const Value* old, Value updated, const Schema& schema,
                   const UpdateRequest& request) {
  ManagedFields managed = owners_before(old, updated, request);
  updated = without_managed_fields(updated);
  if (managed.owners.empty() && old) return updated;

  const Value before = old ? without_managed_fields(*old) : normalize(schema, Value::object());
  for (const Value* object : {&before, &std::as_const(updated)})
    if (!unreadable_version(managed, request.api_version, *object, schema, request.schema_of,
                            request.view_of)
             .empty())
      return updated;
  VersionedChanges changes(before, updated, schema, request.api_version, request.reset_fields,
                           request.schema_of, request.view_of);
  bool is_known = true;
  for (FieldOwner& owner : managed.owners) {
    const Comparison* seen = changes.changes_for(owner);
    is_known = is_known && seen;
    if (seen)
      owner.fields = owner.fields.fitted_to(changes.schema_for(owner))
                         .difference(seen->modified.union_with(seen->added))
                         .difference(seen->removed);
  }
  if (!is_known) return updated;
  managed.drop_empty();
  const FieldSet taken = changes.own().modified.union_with(changes.own().added);

  FieldOwner self{request.manager.empty() ? "unknown" : std::string(request.manager),
                  false,
                  std::string(request.api_version),
                  std::string(request.subresource),
                  std::string(request.now),
                  taken.difference(unowned_fields())};
  if (!self.fields.empty()) {
    if (FieldOwner* known = managed.find(self)) {
      known->fields = known->fields.union_with(self.fields);
      known->time = self.time;
    } else {
      managed.owners.push_back(std::move(self));
    }
  }
  managed.cap_updaters();
  set_managed_fields(updated, managed);
  return updated;
}

Value keep_times_when_unchanged(const Value& old, Value updated) {
  const Value& before = old["metadata"]["managedFields"];
  const Value& after = updated["metadata"]["managedFields"];
  if (before.size() != after.size() || before == after) return updated;
  for (std::size_t i = 0; i < before.size(); ++i) {
    Value a = before[i], b = after[i];
    if (a.is_object()) a.erase("time");
    if (b.is_object()) b.erase("time");
    if (a != b) return updated;
  }
  Value restored = updated;
  restored.member("metadata").set("managedFields", before);
  return restored == old ? old : updated;
}

std::string manager_name(std::string_view field_manager, std::string_view user_agent) {
  if (!field_manager.empty()) return std::string(field_manager);
  std::string out;
  std::string_view agent = user_agent.substr(0, user_agent.find('/'));
  for (std::size_t i = 0; i < agent.size();) {
    unsigned char lead = static_cast<unsigned char>(agent[i]);
    std::size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    std::string_view rune = agent.substr(i, length);
    i += length;
    if (!is_valid_utf8(rune) || lead < 0x20 || lead == 0x7F) continue;
    if (out.size() + rune.size() > 128) break;
    out += rune;
  }
  return out.empty() ? "unknown" : out;
}

}  // namespace cardea::schema
