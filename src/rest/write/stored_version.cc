#include "rest/write/stored_version.h"

#include "json/edited_object.h"
#include "rest/conversion/versions.h"
#include "rest/write/field_permissions.h"
#include "rest/write/object_rules.h"
#include "rest/write/stored_object.h"
#include "schema/ownership/compare.h"

namespace cardea::rest {

using catalog::Resource;
using json::Value;

namespace {

// `next` with what `stored` has and `shown`, the same object in another version, does not; wherever
// the request left things as they were.
Value with_hidden(const Value& stored, const Value& shown, const Value& next) {
  if (schema::same_content(shown, next)) return stored;
  if (!stored.is_object() || !shown.is_object() || !next.is_object()) return next;
  json::EditedObject out(next);
  for (const json::Member& m : stored.members()) {
    const Value* seen = shown.find(m.key());
    if (!seen)
      out.set(m.key(), m.value);
    else if (const Value* now = next.find(m.key()))
      out.set(m.key(), with_hidden(m.value, *seen, *now));
  }
  return out.take();
}

// `out` is the object of the request in the stored version. `shown` is the stored object as the
// version of the request shows it, in the stored version again.
Value with_unwritten(const Call& call, const Value& stored, const Value& shown, Value out) {
  if (!call.info.subresource.empty()) return with_hidden(stored, shown, out);
  if (call.resource->subresource("status") &&
      schema::same_content(shown["status"], out["status"])) {
    if (const Value* status = stored.find("status"))
      out.set("status", *status);
    else
      out.erase("status");
  }
  return out;
}

}  // namespace

Value stored_form(const Call& call, const Value& stored, const Value& object) {
  const Resource& r = *call.resource;
  const Resource& storage = *call.catalog->storage_of(r);
  Value out = converted(object, r, storage);
  if (!r.is_custom || &storage == &r) return out;
  const Value shown = converted(converted(stored, storage, r), r, storage);
  return with_unwritten(call, stored, shown, std::move(out));
}

Task<Result<Value>> stored_form_by_webhook(const Call& call, Value stored, Value old,
                                           Value object) {
  const Resource& r = *call.resource;
  const Resource& storage = *call.catalog->storage_of(r);
  if (&storage == &r) co_return std::move(object);
  std::vector<Value> objects = {object};
  const bool keeps_some = !stored.is_null() &&
                          (!call.info.subresource.empty() || r.subresource("status"));
  if (keeps_some) objects.push_back(old);
  Result<std::vector<Value>> out = co_await convert_all(call, std::move(objects), r, storage);
  if (!out) co_return fail(out.error());
  if (!keeps_some) co_return std::move((*out)[0]);
  co_return with_unwritten(call, stored, (*out)[1], std::move((*out)[0]));
}

std::string bytes_for_store(const Call& call, const store::Record* record, const Value& object) {
  const Resource& storage = *call.catalog->storage_of(*call.resource);
  const bool is_narrowed = record && call.resource->is_custom && &storage != call.resource;
  if (is_narrowed) return stored_bytes(stored_form(call, parse_stored(*record), object));
  return stored_bytes(converted(object, *call.resource, storage));
}

Value round_trip(const Call& call, Value object) {
  const Resource& storage = *call.catalog->storage_of(*call.resource);
  if (&storage == call.resource) return object;
  return converted(converted(object, *call.resource, storage), storage, *call.resource);
}

void show_what_is_hidden(Call& call, const store::Record& record, const Value& object) {
  const Resource& r = *call.resource;
  call.open.show_stored(Value(), Value());
  // Versions of built-in kinds show all of an object, in other words.
  const Resource* storage = call.open.has_conditions() && r.is_custom
                                ? other_storage(*call.catalog, r)
                                : nullptr;
  if (!storage) return;
  Value stored = parse_stored(record);
  if (schema::same_content(converted(converted(stored, *storage, r), r, *storage), stored)) return;
  Value becomes = object.is_null() ? Value() : stored_form(call, stored, object);
  call.open.show_stored(std::move(becomes), std::move(stored));
}

}  // namespace cardea::rest
