#pragma once
#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/kinds/object_meta.h"

namespace cardea::catalog {

// Short words for what nearly every rule says. `object` is the one that holds the field `key`.

inline std::string_view text(const json::Value& object, std::string_view key) {
  return object[key].as_string();
}
inline bool present(const json::Value& object, std::string_view key) {
  return !object[key].is_null();
}

template <typename List>
bool contains(const List& list, std::string_view value) {
  return std::ranges::find(list, value) != std::ranges::end(list);
}

// Unsupported value, unless `value` is listed. The list is shown in the order given.
inline void require_one_of(std::string_view value, std::initializer_list<std::string_view> allowed,
                           const Path& path, json::FieldErrors& out) {
  if (!contains(allowed, value))
    out.push_back(
        json::not_supported(path, value, std::vector<std::string>(allowed.begin(), allowed.end())));
}

// The same where "" has an answer of its own.
inline void require_one_of_or_missing(std::string_view value,
                                      std::initializer_list<std::string_view> allowed,
                                      const Path& path, json::FieldErrors& out) {
  if (value.empty())
    out.push_back(json::required(path));
  else
    require_one_of(value, allowed, path, out);
}

inline void require_text(const json::Value& object, std::string_view key, const Path& path,
                         json::FieldErrors& out) {
  if (text(object, key).empty()) out.push_back(json::required(path / key));
}

// The text must be there and well formed.
inline void require_name(const json::Value& object, std::string_view key,
                         Complaints (*check)(std::string_view), const Path& path,
                         json::FieldErrors& out) {
  std::string_view value = text(object, key);
  if (value.empty())
    out.push_back(json::required(path / key));
  else
    add_invalid(check(value), value, path / key, out);
}

inline void check_number(const json::Value& value, Complaints (*check)(std::int64_t),
                         const Path& path, json::FieldErrors& out) {
  if (value.is_null()) return;
  for (const std::string& message : check(value.as_int()))
    out.push_back(json::invalid(path, value, message));
}

// Calls `visit(item, path[i])` for every item of the list under `key`.
template <typename Visit>
void each(const json::Value& object, std::string_view key, const Path& path, Visit visit) {
  auto items = object[key].items();
  for (std::size_t i = 0; i < items.size(); ++i) visit(items[i], (path / key).index(i));
}

// Editing: sets what is absent, null or "".
inline void default_to(json::Value& object, std::string_view key, json::Value value) {
  const json::Value& now = object[key];
  if (now.is_null() || (now.is_string() && now.as_string().empty()))
    object.set(key, std::move(value));
}

// Edits the member when it is there and an object.
template <typename Edit>
void edit_member(json::Value& object, std::string_view key, Edit edit) {
  if (object[key].is_object()) edit(object.member(key));
}

template <typename Edit>
void edit_items(json::Value& object, std::string_view key, Edit edit) {
  std::size_t count = object[key].items().size();
  if (count == 0) return;
  json::Value& list = object.member(key);
  for (std::size_t i = 0; i < count; ++i)
    if (list[i].is_object()) edit(list.item(i));
}

}  // namespace cardea::catalog
