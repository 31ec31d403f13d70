#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "authz/user.h"
#include "json/value.h"

namespace cardea::authz {

// The JSON of a user, as Kubernetes' UserInfo has it: username, uid, groups, extra. A spec of an
// access review has the same members, with the name under "user".

// How empty members are written. A list of `extra` is written even if it is empty.
enum class EmptyMembers { kOmitted, kShown };

json::Value user_info(const User& user, EmptyMembers empty = EmptyMembers::kOmitted);
// Adds the same members to the spec of an access review; empty ones are omitted.
void add_subject(json::Value& spec, const User& user);

// The user of a UserInfo; and of the spec of an access review. A member of another type reads as
// empty: call `misfits` first if nothing else has checked the types.
User read_user_info(const json::Value& info);
User read_subject(const json::Value& spec);

// A member of a UserInfo that has another type than it should have.
struct UserInfoMisfit {
  std::string_view member;  // "username", "uid", "groups" or "extra"; empty: the UserInfo itself
  std::string key;          // of `extra`, if the misfit is one of its lists
  json::Value value;
  std::string_view wanted;  // "a string"
};

// All misfits of a UserInfo, in the order of its members. Null and absent members fit.
std::vector<UserInfoMisfit> misfits(const json::Value& info);

}  // namespace cardea::authz
