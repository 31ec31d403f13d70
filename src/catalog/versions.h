#pragma once
#include <string_view>

namespace cardea::catalog {

// Whether version `a` comes before `b` in Kubernetes' order: v10, v2, v1, v11beta2, v1alpha1, then
// all other names in alphabetical order.
bool version_before(std::string_view a, std::string_view b);

}  // namespace cardea::catalog
