#pragma once
#include <string>

#include "authz/decision.h"

namespace cardea::authz {

// The conditions of a decision in one line, for people:
//
//   allowed if object.spec.class == "dev" (volumes of class dev only); otherwise denied
//
// A long condition is shown by its id and description. Descriptions are left out unless
// `with_descriptions`. Longer than kLongestLine it ends with `...`. Empty for a decision without
// conditions.
std::string condition_line(const Decision& decision, bool with_descriptions = true);

inline constexpr std::size_t kLongestLine = 1024;

}  // namespace cardea::authz
