#pragma once
#include <cstdint>
#include <string_view>

namespace cardea::impersonation {

// The modes of impersonation, in the order in which they are tried. All but the last are
// constrained: they need a permission for the user (`impersonate:MODE`) and one for the action
// of the request (`impersonate-on:MODE:VERB`).
enum class Mode : std::uint8_t {
  kAssociatedNode,  // a service account's own node, as its token names it
  kArbitraryNode,
  kServiceAccount,
  kUserInfo,  // all other users
  kLegacy,    // the verb `impersonate`, for every user and every action
};
inline constexpr std::size_t kModes = 5;

std::string_view mode_name(Mode mode);  // "associated-node"
// The form of audit events: "impersonate:associated-node"; empty for the last.
std::string_view constraint(Mode mode);

// The kind of user that a name means. Borrows the name.
struct Target {
  enum class Kind : std::uint8_t { kUser, kNode, kServiceAccount };
  Kind kind = Kind::kUser;
  std::string_view node;                     // "n1" of "system:node:n1"
  std::string_view namespace_name, account;  // of "system:serviceaccount:NAMESPACE:ACCOUNT"
};
// A name that only looks like one of a node or a service account is an ordinary user's.
Target target_of(std::string_view user_name);

}  // namespace cardea::impersonation
