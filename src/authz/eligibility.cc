#include "authz/eligibility.h"

#include <algorithm>
#include <span>

namespace cardea::authz {
namespace {

constexpr std::string_view kVerbs[] = {"create", "update", "patch", "delete", "deletecollection"};
constexpr std::string_view kStreams[] = {"exec", "attach", "portforward", "proxy", "log"};

bool contains(std::span<const std::string_view> list, std::string_view what) {
  return std::ranges::find(list, what) != list.end();
}
bool is_concrete(std::string_view part) {
  return !part.empty() && part != "*";
}

}  // namespace

bool may_be_conditional(const Attributes& a) {
  if (!a.is_resource_request || !contains(kVerbs, a.verb)) return false;
  if (a.api_group == "*" || !is_concrete(a.api_version) || !is_concrete(a.resource)) return false;
  if (contains(kStreams, a.subresource)) return false;
  // About the identity of a user, not about permissions.
  return a.api_group != "authentication.k8s.io";
}

}  // namespace cardea::authz
