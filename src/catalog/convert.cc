#include "catalog/convert.h"

#include "catalog/convert_autoscaler.h"

namespace cardea::catalog {

using json::Value;

namespace {

struct Rename {
  std::string_view core, events;
};

constexpr Rename kEventFields[] = {
    {"involvedObject", "regarding"},
    {"message", "note"},
    {"source", "deprecatedSource"},
    {"firstTimestamp", "deprecatedFirstTimestamp"},
    {"lastTimestamp", "deprecatedLastTimestamp"},
    {"count", "deprecatedCount"},
    {"reportingComponent", "reportingController"},
};

bool says_nothing(const Value& value) {
  return value.is_null() || (value.is_string() && value.as_string().empty()) ||
         (value.is_int() && value.as_int() == 0) ||
         ((value.is_object() || value.is_array()) && value.empty());
}

void rename(Value& object, std::string_view from, std::string_view to) {
  const Value* found = object.find(from);
  if (!found) return;
  Value value = *found;
  object.erase(from);
  if (!says_nothing(value)) object.set(to, std::move(value));
}

void convert_event(Value& object, bool to_core) {
  for (const Rename& field : kEventFields)
    to_core ? rename(object, field.events, field.core) : rename(object, field.core, field.events);
}

}  // namespace

Value convert(const Value& object, const Resource& from, const Resource& to) {
  // A stored custom resource keeps the version in which it was written, also when another version
  // becomes the stored one.
  const bool is_old = to.is_custom && object["apiVersion"].as_string() != to.api_version();
  if (from.group == to.group && from.version == to.version && !is_old) return object;
  Value out = object;
  out.set("apiVersion", to.api_version());
  out.set("kind", to.kind);
  if (to.is_custom) return out;
  if (from.kind == "Event") convert_event(out, to.group.empty());
  if (from.kind == "HorizontalPodAutoscaler") {
    if (to.version == "v1")
      autoscaler_to_v1(out);
    else
      autoscaler_to_v2(out);
  }
  return out;
}

}  // namespace cardea::catalog
