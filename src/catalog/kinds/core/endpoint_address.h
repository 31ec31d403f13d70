#pragma once
#include <string_view>

#include "catalog/kinds/path.h"
#include "json/field_error.h"

namespace cardea::catalog {

// Refuses addresses that stand for the node itself or its link: traffic may not be sent to them.
void validate_endpoint_ip(std::string_view ip, const Path& path, json::FieldErrors& out);

}  // namespace cardea::catalog
