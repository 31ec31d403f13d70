#pragma once
#include <string>

#include "json/value.h"

namespace cardea::catalog {

// A pod's spec and template as Kubernetes' messages show them: every field of its internal types,
// in their order. Rare parts (affinity, odd volumes) are shown with the fields they have.
std::string show_go_pod_spec(const json::Value& spec);
std::string show_go_pod_template(const json::Value& pod_template);

}  // namespace cardea::catalog
