#pragma once
#include "catalog/kinds/check.h"

namespace cardea::catalog {

// Parts that the kinds of resource.k8s.io share.

void validate_device_selectors(const Value& selectors, const Path& path,
                               FieldErrors& out);  // [{cel: {expression}}]
void validate_opaque_config(const Value& opaque, const Path& path,
                            FieldErrors& out);  // {driver, parameters}
void validate_driver_name(const Value& name, const Path& path, FieldErrors& out);
void validate_pool_name(const Value& name, const Path& path, FieldErrors& out);
// domain/identifier. The domain is optional unless `full`.
void validate_qualified_identifier(std::string_view name, const Path& path, bool full,
                                   FieldErrors& out);

// The spec of a ResourceClaim, as claims and their templates hold it.
void default_resource_claim_spec(Value& spec);
void validate_resource_claim_spec(const Value& spec, const Path& path, FieldErrors& out);
// Names of the requests, and "request/subrequest".
std::vector<std::string> claim_request_names(const Value& claim_spec);

}  // namespace cardea::catalog
