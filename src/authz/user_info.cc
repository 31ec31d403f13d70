#include "authz/user_info.h"

#include <algorithm>

namespace cardea::authz {
namespace {

using json::Value;

Value list_of(const std::vector<std::string>& texts) {
  Value out = Value::array();
  for (const std::string& text : texts) out.push_back(text);
  return out;
}

std::vector<std::string> texts_of(const Value& list) {
  std::vector<std::string> out;
  out.reserve(list.size());
  for (const Value& text : list.items()) out.emplace_back(text.as_string());
  return out;
}

void add(Value& out, const User& user, std::string_view name_key, EmptyMembers empty) {
  const bool all = empty == EmptyMembers::kShown;
  if (all || !user.name.empty()) out.set(name_key, user.name);
  if (all || !user.uid.empty()) out.set("uid", user.uid);
  if (all || !user.groups.empty()) out.set("groups", list_of(user.groups));
  if (!all && user.extra.empty()) return;
  Value extra = Value::object();
  for (const auto& [key, values] : user.extra) extra.set(key, list_of(values));
  out.set("extra", std::move(extra));
}

User read(const Value& from, std::string_view name_key) {
  User user{.name = std::string(from[name_key].as_string()),
            .uid = std::string(from["uid"].as_string()),
            .groups = texts_of(from["groups"])};
  for (const json::Member& m : from["extra"].members())
    user.extra[std::string(m.key())] = texts_of(m.value);
  return user;
}

bool are_texts(const Value& list) {
  return list.is_array() && std::ranges::all_of(list.items(), &Value::is_string);
}

}  // namespace

Value user_info(const User& user, EmptyMembers empty) {
  Value out = Value::object();
  add(out, user, "username", empty);
  return out;
}

void add_subject(Value& spec, const User& user) {
  add(spec, user, "user", EmptyMembers::kOmitted);
}

User read_user_info(const Value& info) {
  return read(info, "username");
}

User read_subject(const Value& spec) {
  return read(spec, "user");
}

std::vector<UserInfoMisfit> misfits(const Value& info) {
  std::vector<UserInfoMisfit> out;
  auto check = [&](std::string_view member, std::string_view key, const Value& value, bool fits,
                   std::string_view wanted) {
    if (!value.is_null() && !fits) out.push_back({member, std::string(key), value, wanted});
  };
  check("", "", info, info.is_object(), "an object");
  for (std::string_view key : {"username", "uid"})
    check(key, "", info[key], info[key].is_string(), "a string");
  check("groups", "", info["groups"], are_texts(info["groups"]), "a list of strings");
  const Value& extra = info["extra"];
  check("extra", "", extra, extra.is_object(), "an object");
  for (const json::Member& m : extra.members())
    check("extra", m.key(), m.value, are_texts(m.value), "a list of strings");
  return out;
}

}  // namespace cardea::authz
