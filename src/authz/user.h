#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cardea::authz {

// The user of a request. A value, made by authentication and perhaps replaced by impersonation.
struct User {
  std::string name;
  std::string uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;

  bool in_group(std::string_view group) const {
    for (const std::string& g : groups)
      if (g == group) return true;
    return false;
  }
};

inline constexpr std::string_view kMastersGroup = "system:masters";
inline constexpr std::string_view kAuthenticatedGroup = "system:authenticated";
inline constexpr std::string_view kUnauthenticatedGroup = "system:unauthenticated";
inline constexpr std::string_view kAnonymousUser = "system:anonymous";

}  // namespace cardea::authz
