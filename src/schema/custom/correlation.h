#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "json/value.h"

// The correspondence between parts of the old and the new object, for rules of custom
// resources.
namespace cardea::schema {

// The items of an old list of type map, found by the keys of a new item. Holds references to both
// arguments.
class KeyedItems {
 public:
  KeyedItems(const json::Value& schema, const json::Value& items);
  const json::Value* find(const json::Value& item) const;  // null when there is none, or the list
                                                           // has another type

 private:
  std::optional<std::string> key(const json::Value& item) const;
  json::Value keys_;
  json::Value items_;  // keeps what `by_key_` points to
  std::map<std::string, const json::Value*, std::less<>> by_key_;
};

// A place of the new object beside its place in the old one.
struct Correlated {
  const json::Value* value;
  const json::Value* old;
  const json::Value* schema;

  std::optional<Correlated> key(std::string_view field) const;
  // Lists of type map compare by keys. What the schema does not know counts as changed.
  bool unchanged() const;
};

// Whether a broken rule may stay broken: its place, or the nearest place above it that exists
// in the old object, did not change.
class Ratchet {
 public:
  Ratchet() = default;  // nothing may stay broken
  Ratchet(const json::Value& value, const json::Value& old, const json::Value& schema)
      : here_(Correlated{&value, &old, &schema}) {}

  Ratchet key(std::string_view field) const;
  Ratchet item(const json::Value& item, const json::Value* before) const;  // `before`: its
                                                                           // counterpart, if any
  Ratchet uncorrelated() const;
  bool is_unchanged() const { return here_ ? here_->unchanged() : above_ && above_->unchanged(); }

 private:
  Ratchet(std::optional<Correlated> here, std::optional<Correlated> above)
      : here_(here), above_(above) {}
  std::optional<Correlated> here_, above_;
};

}  // namespace cardea::schema
