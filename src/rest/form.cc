#include "rest/form.h"

namespace cardea::rest {

using catalog::Resource;
using catalog::StrategyContext;
using json::Value;

namespace {

void keep_status(Value& object, const Value& old) {
  if (const Value* status = old.find("status")) object.set("status", *status);
  else object.erase("status");
}

StrategyContext context_of(const Resource& r) { return {.group = r.group, .version = r.version, .resource = r.name}; }

}  // namespace

Value defaulted(const Resource& r, Value object) {
  if (r.strategy->defaults) r.strategy->defaults(object, context_of(r));
  return object;
}

Result<schema::Decoded> decode_form(const Resource& r, const schema::Schema& schema, const json::Document& document,
                                    std::string_view text) {
  auto decoded = schema::decode(schema, document, text);
  if (!decoded || &schema != r.schema) return decoded;
  decoded->value = schema::normalize(schema, defaulted(r, std::move(decoded->value)));
  return decoded;
}

void prepare_for_create(Value& object, const Resource& r, const StrategyContext& context) {
  if (r.strategy->prepare_for_create) r.strategy->prepare_for_create(object, context);
  else if (r.subresource("status")) object.erase("status");
  if (r.schema && !r.is_custom) object = schema::normalize(*r.schema, object);
}

void prepare_for_update(Value& object, const Value& old, const Resource& r, const StrategyContext& context) {
  if (context.subresource == "status") {
    if (r.strategy->prepare_for_status_update) return r.strategy->prepare_for_status_update(object, old, context);
    Value status = object["status"];
    Value labels = object["metadata"];
    object = old;
    object.set("metadata", labels);
    if (status.is_null()) object.erase("status");
    else object.set("status", status);
  } else if (r.strategy->prepare_for_update) {
    r.strategy->prepare_for_update(object, old, context);
  } else if (r.subresource("status")) {
    keep_status(object, old);
  }
  if (r.schema && !r.is_custom) object = schema::normalize(*r.schema, object);
}

json::FieldErrors validate_create(const Value& object, const Resource& r, const StrategyContext& context) {
  if (r.strategy->validate_create) return r.strategy->validate_create(object, context);
  return {};
}

json::FieldErrors validate_update(const Value& object, const Value& old, const Resource& r,
                                  const StrategyContext& context, std::vector<std::string>&) {
  if (context.subresource == "status") {
    if (r.strategy->validate_status_update) return r.strategy->validate_status_update(object, old, context);
    return {};
  }
  if (r.strategy->validate_update) return r.strategy->validate_update(object, old, context);
  return {};
}

Value converted(const Value& object, const Resource& from, const Resource& to) {
  if (&from == &to) return object;
  Value out = object;
  out.set("apiVersion", to.api_version());
  out.set("kind", to.kind);
  return out;
}

}  // namespace cardea::rest
