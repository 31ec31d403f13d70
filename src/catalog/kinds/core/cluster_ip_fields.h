#pragma once
#include "json/field_error.h"
#include "json/value.h"

namespace cardea::catalog {

// Checks clusterIP, clusterIPs, ipFamilies and ipFamilyPolicy of a Service against each other:
// before addresses are assigned, and again with the rest of the service. `old` may be null.
void validate_cluster_ip_fields(const json::Value& service, const json::Value* old,
                                json::FieldErrors& out);

}  // namespace cardea::catalog
