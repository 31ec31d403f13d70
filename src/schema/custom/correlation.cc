#include "schema/custom/correlation.h"

#include "json/print.h"

namespace cardea::schema {

using json::Value;

KeyedItems::KeyedItems(const Value& schema, const Value& items) {
  if (schema["type"].as_string() != "array" ||
      schema["x-kubernetes-list-type"].as_string() != "map")
    return;
  keys_ = schema["x-kubernetes-list-map-keys"];
  if (keys_.empty()) return;
  items_ = items;
  for (const Value& item : items_.items())
    if (auto k = key(item)) by_key_.emplace(std::move(*k), &item);
}

std::optional<std::string> KeyedItems::key(const Value& item) const {
  if (!item.is_object()) return std::nullopt;
  std::string out;
  for (const Value& name : keys_.items()) {
    const Value* v = item.find(name.as_string());
    if (v == nullptr || !(v->is_bool() || v->is_number() || v->is_string())) return std::nullopt;
    out += json::print(*v);
    out += '\0';
  }
  return out;
}

const Value* KeyedItems::find(const Value& item) const {
  if (by_key_.empty()) return nullptr;
  const auto k = key(item);
  if (!k) return nullptr;
  const auto at = by_key_.find(*k);
  return at == by_key_.end() ? nullptr : at->second;
}

std::optional<Correlated> Correlated::key(std::string_view field) const {
  const Value* now = value->find(field);
  const Value* before = old->find(field);
  if (now == nullptr || before == nullptr) return std::nullopt;
  const Value* below = (*schema)["properties"].find(field);
  if (below == nullptr && (*schema)["additionalProperties"].is_object())
    below = schema->find("additionalProperties");
  if (below == nullptr) return std::nullopt;
  return Correlated{now, before, below};
}

bool Correlated::unchanged() const {
  if (value->same(*old)) {
    // Equal for certain; but unknown fields still count as changed below.
    if (!value->is_object() && !value->is_array()) return true;
  }
  if (value->is_null() || old->is_null()) return value->is_null() && old->is_null();
  if (value->is_array() != old->is_array() || value->is_object() != old->is_object()) return false;
  if (value->is_object()) {
    if (value->size() != old->size()) return false;
    for (const json::Member& m : value->members()) {
      const auto below = key(m.key());
      if (!below || !below->unchanged()) return false;
    }
    return true;
  }
  if (!value->is_array()) return *value == *old;
  if (value->size() != old->size()) return false;
  if ((*schema)["x-kubernetes-list-type"].as_string() != "map") return *value == *old;
  const KeyedItems items(*schema, *old);
  for (const Value& item : value->items()) {
    const Value* before = items.find(item);
    if (before == nullptr || !Correlated{&item, before, schema->find("items")}.unchanged())
      return false;
  }
  return true;
}

Ratchet Ratchet::key(std::string_view field) const {
  if (!here_) return *this;
  // Both objects were brought to one version: a change of these could not be seen.
  if (!above_ && (field == "apiVersion" || field == "kind")) return {};
  return {here_->key(field), here_};
}

Ratchet Ratchet::item(const Value& item, const Value* before) const {
  if (!here_) return *this;
  const Value* below = here_->schema->find("items");
  if (before == nullptr || below == nullptr) return {std::nullopt, here_};
  return {Correlated{&item, before, below}, here_};
}

Ratchet Ratchet::uncorrelated() const {
  return {std::nullopt, above_};
}

}  // namespace cardea::schema
