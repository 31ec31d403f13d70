#include "authz/eligibility.h"

#include <algorithm>
#include <span>

namespace cardea::authz {
namespace {

constexpr std::string_view kVerbs[] = {"create", "update", "patch", "delete", "deletecollection"};
constexpr std::string_view kStreams[] = {"exec", "attach", "portforward", "proxy", "log"};
constexpr std::string_view kConnections[] = {"pods/exec",  "pods/attach",    "pods/portforward",
                                             "pods/proxy", "services/proxy", "nodes/proxy"};

bool contains(std::span<const std::string_view> list, std::string_view what) {
  return std::ranges::find(list, what) != list.end();
}
bool is_concrete(std::string_view part) {
  return !part.empty() && part != "*";
}

}  // namespace

bool is_connection(const Attributes& a) {
  if (!a.is_resource_request || !a.api_group.empty() || a.subresource.empty()) return false;
  return std::ranges::any_of(kConnections, [&](std::string_view one) {
    const std::size_t slash = one.find('/');
    return one.substr(0, slash) == a.resource && one.substr(slash + 1) == a.subresource;
  });
}

bool may_be_conditional(const Attributes& a) {
  if (!a.is_resource_request) return false;
  if (a.api_group == "*" || !is_concrete(a.api_version) || !is_concrete(a.resource)) return false;
  if (is_connection(a)) return a.verb == "get" || contains(kVerbs, a.verb);
  if (!contains(kVerbs, a.verb) || contains(kStreams, a.subresource)) return false;
  // About the identity of a user, not about permissions.
  return a.api_group != "authentication.k8s.io";
}

}  // namespace cardea::authz
