#pragma once
#include <string>

namespace cardea::authz {

// What an authorizer answers. The default-constructed one denies.
struct Decision {
  enum class Kind { kDeny, kAllow, kNoOpinion };

  Kind kind = Kind::kDeny;
  std::string reason;  // for the person who reads the 403 or the audit log
  std::string error;   // what went wrong on the way; never turns into an allow

  static Decision allow(std::string reason = "") { return {Kind::kAllow, std::move(reason), ""}; }
  static Decision deny(std::string reason) { return {Kind::kDeny, std::move(reason), ""}; }
  static Decision no_opinion(std::string reason = "") { return {Kind::kNoOpinion, std::move(reason), ""}; }
  bool allowed() const { return kind == Kind::kAllow; }
};

}  // namespace cardea::authz
