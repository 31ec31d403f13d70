#include "schema/custom/defaults.h"

#include <algorithm>

#include "schema/custom/rules.h"

namespace cardea::schema {
namespace {

using json::Member;
using json::Value;

bool is_forbidden_null(const Schema& s, const Value& v) {
  return v.is_null() && !s.nullable;
}

Value default_or_null(const Schema& s) {
  return s.default_value ? *s.default_value : Value();
}

}  // namespace

Value apply_defaults(const Schema& schema, const Value& value) {
  // Built-in types (metadata) have their defaults elsewhere.
  if (!schema.rules) return value;
  Value out = value;
  if (value.is_object()) {
    for (const Property& p : schema.properties) {
      if (!p.schema->default_value || !p.schema->rules) continue;
      const Value* given = value.find(p.name);
      if (!given || is_forbidden_null(*p.schema, *given)) out.set(p.name, *p.schema->default_value);
    }
    const Value filled = out;
    for (const Member& m : filled.members()) {
      const Property* p = schema.property(m.key());
      if (!p && (!schema.additional || schema.rules->any_additional)) continue;
      const Schema& s = p ? *p->schema : *schema.additional;
      Value given = !p && is_forbidden_null(s, m.value) ? default_or_null(s) : m.value;
      Value next = apply_defaults(s, given);
      if (!next.same(m.value)) out.set(m.key(), std::move(next));
    }
  } else if (value.is_array() && schema.items) {
    auto items = value.items();
    for (std::size_t i = 0; i < items.size(); ++i) {
      Value given = is_forbidden_null(*schema.items, items[i]) ? default_or_null(*schema.items)
                                                               : items[i];
      Value next = apply_defaults(*schema.items, given);
      if (!next.same(items[i])) out.item(i) = std::move(next);
    }
  }
  return out;
}

bool has_defaults(const Schema& schema) {
  // Custom resources' own nodes form a tree; built-in types may be cyclic.
  if (!schema.rules) return false;
  if (schema.default_value) return true;
  if (schema.items && has_defaults(*schema.items)) return true;
  if (schema.additional && has_defaults(*schema.additional)) return true;
  return std::ranges::any_of(schema.properties,
                             [](const Property& p) { return has_defaults(*p.schema); });
}

}  // namespace cardea::schema
