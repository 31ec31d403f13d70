#pragma once
#include <set>
#include <string>
#include <string_view>

#include "base/quantity.h"
#include "catalog/kinds/path.h"
#include "json/field_error.h"
#include "json/value.h"

namespace cardea::catalog {

// Amounts of cpu, memory and other resources: resource names, lists (name -> quantity) and
// requirements {requests, limits, claims}. Pure functions.

Quantity quantity_of(const json::Value& value);  // 0 when it cannot be read; decoding has checked
                                                 // that before
std::string show_quantity(const json::Value& value);  // canonical

bool is_native_resource(std::string_view name);  // without a domain or in kubernetes.io
bool is_extended_resource(std::string_view name);
bool is_huge_page_resource(std::string_view name);
bool is_integer_resource(std::string_view name);  // counted in whole units
bool is_overcommit_allowed(std::string_view name);

void validate_resource_name(std::string_view name, const Path& path, json::FieldErrors& out);
void validate_container_resource_name(std::string_view name, const Path& path,
                                      json::FieldErrors& out);
// Whether a ResourceQuota counts pods, or cpu, memory and ephemeral storage of pods, by this name.
bool is_pod_quota_resource(std::string_view name);
void validate_quota_resource_name(std::string_view name, const Path& path, json::FieldErrors& out);
void validate_resource_value(std::string_view name, const json::Value& quantity, const Path& path,
                             json::FieldErrors& out);
void validate_nonnegative_quantity(const json::Value& quantity, const Path& path,
                                   json::FieldErrors& out);

// `pod_claims`: the names in the pod's spec.resourceClaims.
void validate_container_resources(const json::Value& requirements,
                                  const std::set<std::string>& pod_claims, const Path& path,
                                  json::FieldErrors& out);
void validate_pod_level_resources(const json::Value& pod_spec, const Path& spec_path,
                                  const std::set<std::string>& pod_claims, json::FieldErrors& out);

// Amounts in their canonical spelling, in which the server stores them. An amount finer than a
// thousandth is rounded up.
void default_quantity(json::Value& owner, std::string_view key);
void default_resource_list(json::Value& owner, std::string_view key);
void default_resource_requirements(json::Value& owner, std::string_view key = "resources");
// Requests that the client left out become equal to the limits.
void default_requests_from_limits(json::Value& container);

enum class ResourceSide { kRequests, kLimits };
// The sum over the containers of a pod. Init containers count as they run: one after the other,
// sidecars in parallel.
json::Value aggregate_container_resources(const json::Value& pod_spec, ResourceSide side);

// "Guaranteed", "Burstable" or "BestEffort".
std::string_view pod_qos_class(const json::Value& pod_spec);

}  // namespace cardea::catalog
