#include <array>

#include "schema/managed_fields.h"

namespace cardea::schema {
namespace {

// Kinds whose status writes put back more than the spec.
struct StatusRule {
  std::string_view group, kind;
  std::array<std::string_view, 2> metadata;  // fields of metadata
};

constexpr StatusRule kStatusRules[] = {
    {"", "Pod", {"f:deletionTimestamp", "f:ownerReferences"}},
    {"apps", "Deployment", {"f:labels", ""}},
};

constexpr std::pair<std::string_view, std::string_view> kWholeMetadata[] = {
    {"apiextensions.k8s.io", "CustomResourceDefinition"},
    {"apiregistration.k8s.io", "APIService"},
    {"admissionregistration.k8s.io", "ValidatingAdmissionPolicy"},
    {"storage.k8s.io", "VolumeAttachment"},
    {"flowcontrol.apiserver.k8s.io", "FlowSchema"},
    {"flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"},
};

}  // namespace

FieldSet reset_fields(std::string_view group, std::string_view kind, std::string_view subresource, bool is_custom,
                      bool has_status) {
  FieldSet out;
  if (subresource.empty() && has_status) out.insert({"f:status"});
  if (subresource != "status") return out;
  out.insert({"f:spec"});
  if (is_custom) out.insert({"f:metadata"});
  for (const auto& [rule_group, rule_kind] : kWholeMetadata)
    if (rule_group == group && rule_kind == kind) out.insert({"f:metadata"});
  for (const StatusRule& rule : kStatusRules)
    if (rule.group == group && rule.kind == kind)
      for (std::string_view field : rule.metadata)
        if (!field.empty()) out.insert({"f:metadata", std::string(field)});
  return out;
}

}  // namespace cardea::schema
