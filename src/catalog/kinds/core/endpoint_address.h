#pragma once
#include <string_view>

#include "catalog/kinds/path.h"
#include "json/field_error.h"

namespace cardea::catalog {

// Traffic may not be sent to addresses that mean the node itself or its link.
void validate_endpoint_ip(std::string_view ip, const Path& path, json::FieldErrors& out);

}  // namespace cardea::catalog
