#include "rest/write/system_fields.h"

#include "base/random.h"
#include "base/strings.h"
#include "rest/present/status.h"

namespace cardea::rest {

using catalog::Resource;
using json::Value;

namespace {

constexpr std::size_t kMaxGeneratedPrefix = 58;

}  // namespace

void clear_system_fields(const Call& call, Value& object) {
  Value& meta = object.member("metadata");
  for (auto key :
       {"uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"})
    meta.erase(key);
  if (call.resource->namespaced)
    meta.set("namespace", call.info.namespace_name);
  else
    meta.erase("namespace");
}

Result<void> set_system_fields(Call& call, Value& object) {
  const Resource& r = *call.resource;
  Value& meta = object.member("metadata");
  if (std::string_view space = meta["namespace"].as_string();
      r.namespaced && !space.empty() && space != call.info.namespace_name)
    return fail(bad_request(
        "the namespace of the provided object does not match the namespace sent on the request"));
  if (std::string_view name = meta["name"].as_string();
      !call.info.name.empty() && call.info.subresource.empty() && name != call.info.name)
    return fail(bad_request(cat("the name of the object (", name,
                                ") does not match the name on the URL (", call.info.name, ")")));
  clear_system_fields(call, object);
  meta.set("creationTimestamp", call.started.text());
  meta.set("uid", make_uid(call.services.random));
  if (r.strategy->has_generation || r.is_custom) meta.set("generation", 1);
  return {};
}

void generate_name(Call& call, Value& object) {
  Value& meta = object.member("metadata");
  std::string_view prefix = meta["generateName"].as_string();
  if (prefix.empty()) return;
  meta.set("name", cat(prefix.substr(0, kMaxGeneratedPrefix), name_suffix(call.services.random)));
}

void keep_system_fields(Value& object, const Value& old) {
  Value& meta = object.member("metadata");
  const Value& was = old["metadata"];
  if (meta["uid"].as_string().empty()) meta.set("uid", was["uid"]);
  if (meta["resourceVersion"].as_string().empty())
    meta.set("resourceVersion", was["resourceVersion"]);
  meta.set("creationTimestamp", was["creationTimestamp"]);
  if (const Value* v = was.find("deletionTimestamp")) meta.set("deletionTimestamp", *v);
  if (const Value* v = was.find("deletionGracePeriodSeconds");
      v && meta["deletionGracePeriodSeconds"].is_null())
    meta.set("deletionGracePeriodSeconds", *v);
  if (const Value* v = was.find("generation"))
    meta.set("generation", *v);
  else
    meta.erase("generation");
  meta.erase("selfLink");
}

bool keeps_identity(const Value& object, const Value& old) {
  for (auto key : {"uid", "resourceVersion", "creationTimestamp"})
    if (object["metadata"][key] != old["metadata"][key]) return false;
  return true;
}

Value with_revision(Value object, store::Revision revision) {
  object.member("metadata").set("resourceVersion", std::to_string(revision));
  return object;
}

bool differs_in_generation(const Resource& r, const Value& a, const Value& b) {
  if (!r.is_custom) return a["spec"] != b["spec"];
  Value x = a, y = b;
  for (Value* v : {&x, &y}) {
    v->erase("metadata");
    if (r.subresource("status")) v->erase("status");
  }
  return x != y;
}

bool is_gone_after(const Value& object) {
  const Value& meta = object["metadata"];
  return meta.has("deletionTimestamp") && meta["finalizers"].empty() &&
         meta["deletionGracePeriodSeconds"].as_int() == 0 && object["spec"]["finalizers"].empty();
}

}  // namespace cardea::rest
