#pragma once
#include <string_view>

namespace cardea::catalog {

// Whether version `a` goes before `b` where Kubernetes orders them: v10, v2, v1, v11beta2,
// v1alpha1, then everything else by name.
bool version_before(std::string_view a, std::string_view b);

}  // namespace cardea::catalog
