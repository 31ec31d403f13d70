#pragma once
#include <string_view>

#include "authz/request_info.h"
#include "authz/user.h"

namespace cardea::authz {

// The question: may `user` do this? Borrows everything.
struct Attributes {
  const User& user;
  bool is_resource_request = false;
  std::string_view verb;
  std::string_view api_group, api_version, namespace_name, resource, subresource, name;
  std::string_view path;                 // of a request that is not about a resource
  const Selectors* selectors = nullptr;  // null: none were sent

  Attributes(const User& who, const RequestInfo& what);
  explicit Attributes(const User& who) : user(who) {}
};

}  // namespace cardea::authz
