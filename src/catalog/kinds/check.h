#pragma once
#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catalog/kinds/names.h"
#include "catalog/kinds/object_meta.h"
#include "catalog/kinds/path.h"
#include "json/field_error.h"

namespace cardea::catalog {

// Small checks that most kinds use. Each appends its errors to `out`, in Kubernetes' words. A
// missing value counts as the zero value of its type, as in Kubernetes' own types.

using json::FieldErrors;
using json::Value;

// One `Invalid value` for each error.
void complain(const Path& path, const Value& value, const Complaints& complaints, FieldErrors& out);

void check_not_negative(const Path& path, const Value& number, FieldErrors& out);
// Unsupported value, unless it is listed. The list is shown in the order given.
void check_one_of(const Path& path, std::string_view text,
                  std::initializer_list<std::string_view> allowed, FieldErrors& out);
void check_one_of(const Path& path, std::string_view text, const std::vector<std::string>& allowed,
                  FieldErrors& out);
inline void check_one_of(const Path& path, const Value& text,
                         std::initializer_list<std::string_view> allowed, FieldErrors& out) {
  check_one_of(path, text.as_string(), allowed, out);
}
inline void check_one_of(const Path& path, const Value& text,
                         const std::vector<std::string>& allowed, FieldErrors& out) {
  check_one_of(path, text.as_string(), allowed, out);
}
// Requires a text that is not empty.
bool check_required(const Path& path, const Value& text, FieldErrors& out);
void check_immutable(const Path& path, const Value& value, const Value& old, FieldErrors& out);
// An integer or a percentage.
void check_int_or_percent(const Path& path, const Value& value, FieldErrors& out);
void check_not_above_100_percent(const Path& path, const Value& value, FieldErrors& out);
// `example.com/some/path`: the form of the names of controllers and finalizers.
void validate_domain_prefixed_path(const Path& path, const Value& text, FieldErrors& out);
// metav1.Condition.
void check_conditions(const Path& path, const Value& conditions, FieldErrors& out);

// Equal as Kubernetes' API compares: a missing value equals an empty one.
bool semantically_equal(const Value& a, const Value& b);
bool is_zero(const Value& value);  // null, false, 0, "", [] or {} of such

// Some messages show a value as Kubernetes' own types hold it: with the members in their order and
// with their names there. `Shown` is such a text.
using Shown = std::string;
Shown shown(const Value& value);
Shown shown_or(const Value& value, const Value& absent);  // `absent` when the value is null
Shown shown_struct(std::initializer_list<std::pair<std::string_view, Shown>> members);
// The members of `value` in the given order; missing members are left out.
Shown shown_in_order(const Value& value, std::initializer_list<std::string_view> names);
Shown shown_selector(const Value& label_selector);
json::FieldError invalid_shown(const Path& path, const Shown& value, std::string_view detail);
json::FieldError not_supported_shown(const Path& path, const Shown& value,
                                     const std::vector<std::string>& supported);
json::FieldError duplicate_shown(const Path& path, const Shown& value);

std::vector<std::string> strings(const Value& list);

// Sets a member that is missing or null.
void set_default(Value& object, std::string_view key, const Value& value);
// The member; it becomes an object if it is missing or null.
Value& object_member(Value& object, std::string_view key);

// Hooks that many kinds share. On create the server removes the status; on update the old status
// stays.
void drop_status(Value& object, const StrategyContext&);
void keep_status(Value& object, const Value& old, const StrategyContext&);
// On the status subresource everything except the status stays as it was.
void keep_spec(Value& object, const Value& old, const StrategyContext&);

// Short forms of the most frequent rules. `object` is the object that has the field `key`.

inline std::string_view text(const Value& object, std::string_view key) {
  return object[key].as_string();
}
inline bool present(const Value& object, std::string_view key) {
  return !object[key].is_null();
}

template <typename List>
bool contains(const List& list, std::string_view value) {
  return std::ranges::find(list, value) != std::ranges::end(list);
}

// The same where "" is a missing value.
inline void require_one_of_or_missing(std::string_view value,
                                      std::initializer_list<std::string_view> allowed,
                                      const Path& path, FieldErrors& out) {
  if (value.empty())
    out.push_back(json::required(path));
  else
    check_one_of(path, value, allowed, out);
}

inline void require_text(const Value& object, std::string_view key, const Path& path,
                         FieldErrors& out) {
  if (text(object, key).empty()) out.push_back(json::required(path / key));
}

// The text must be present and well formed.
inline void require_name(const Value& object, std::string_view key,
                         Complaints (*check)(std::string_view), const Path& path,
                         FieldErrors& out) {
  std::string_view value = text(object, key);
  if (value.empty())
    out.push_back(json::required(path / key));
  else
    complain(path / key, value, check(value), out);
}

inline void check_number(const Value& value, Complaints (*check)(std::int64_t), const Path& path,
                         FieldErrors& out) {
  if (value.is_null()) return;
  for (const std::string& message : check(value.as_int()))
    out.push_back(json::invalid(path, value, message));
}

// Calls `visit(item, path[i])` for every item of the list under `key`.
template <typename Visit>
void each(const Value& object, std::string_view key, const Path& path, Visit visit) {
  auto items = object[key].items();
  for (std::size_t i = 0; i < items.size(); ++i) visit(items[i], (path / key).index(i));
}

// Sets a member that is absent, null or "".
inline void default_to(Value& object, std::string_view key, Value value) {
  const Value& now = object[key];
  if (now.is_null() || (now.is_string() && now.as_string().empty()))
    object.set(key, std::move(value));
}

// Edits the member if it is present and an object.
template <typename Edit>
void edit_member(Value& object, std::string_view key, Edit edit) {
  if (object[key].is_object()) edit(object.member(key));
}

template <typename Edit>
void edit_items(Value& object, std::string_view key, Edit edit) {
  std::size_t count = object[key].items().size();
  if (count == 0) return;
  Value& list = object.member(key);
  for (std::size_t i = 0; i < count; ++i)
    if (list[i].is_object()) edit(list.item(i));
}

}  // namespace cardea::catalog
