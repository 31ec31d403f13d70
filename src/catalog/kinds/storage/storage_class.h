#pragma once
#include "catalog/kinds/path.h"
#include "json/field_error.h"

namespace cardea::catalog {

// The name of a CSI driver: a DNS subdomain of at most 63 bytes, in upper or lower case.
void validate_csi_driver_name(const Path& path, const json::Value& name, json::FieldErrors& out);

}  // namespace cardea::catalog
