#pragma once
#include "catalog/kinds/path.h"
#include "json/field_error.h"

namespace cardea::catalog {

// The name under which a CSI driver is known: a DNS subdomain of at most 63 bytes, in either case.
void validate_csi_driver_name(const Path& path, const json::Value& name, json::FieldErrors& out);

}  // namespace cardea::catalog
