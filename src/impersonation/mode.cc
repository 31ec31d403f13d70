#include "impersonation/mode.h"

#include <iterator>

#include "base/names.h"

namespace cardea::impersonation {
namespace {

constexpr std::string_view kNodePrefix = "system:node:", kAccountPrefix = "system:serviceaccount:",
                           kVerbPrefix = "impersonate:";
constexpr std::string_view kVerbs[] = {"impersonate:associated-node", "impersonate:arbitrary-node",
                                       "impersonate:serviceaccount", "impersonate:user-info"};

}  // namespace

std::string_view mode_name(Mode mode) {
  return mode == Mode::kLegacy ? "legacy" : constraint(mode).substr(kVerbPrefix.size());
}

std::string_view constraint(Mode mode) {
  static_assert(std::size(kVerbs) + 1 == kModes);
  return mode == Mode::kLegacy ? "" : kVerbs[static_cast<std::size_t>(mode)];
}

Target target_of(std::string_view name) {
  if (name.starts_with(kNodePrefix)) {
    std::string_view node = name.substr(kNodePrefix.size());
    if (dns_subdomain_problems(node).empty()) return {.kind = Target::Kind::kNode, .node = node};
  }
  if (name.starts_with(kAccountPrefix)) {
    std::string_view rest = name.substr(kAccountPrefix.size());
    std::size_t colon = rest.find(':');
    if (colon == std::string_view::npos) return {};
    std::string_view space = rest.substr(0, colon), account = rest.substr(colon + 1);
    // A second colon is not part of a subdomain.
    if (dns_label_problems(space).empty() && dns_subdomain_problems(account).empty())
      return {.kind = Target::Kind::kServiceAccount, .namespace_name = space, .account = account};
  }
  return {};
}

}  // namespace cardea::impersonation
