#include <array>

#include "base/strings.h"
#include "schema/ownership/managed_fields.h"

namespace cardea::schema {
namespace {

// Where a kind differs from the rule that writes of the object put back the status, and writes of
// the status put back the spec.
struct Exception {
  std::string_view group, kind, subresource;
  std::array<std::string_view, 2> fields;  // of the object, or of metadata or status after a dot
};

constexpr Exception kExceptions[] = {
    {"", "Pod", "status", {"metadata.deletionTimestamp", "metadata.ownerReferences"}},
    {"apps", "Deployment", "status", {"metadata.labels"}},
    {"certificates.k8s.io", "CertificateSigningRequest", "", {"spec"}},
    {"certificates.k8s.io", "CertificateSigningRequest", "status", {"status.conditions"}},
    {"certificates.k8s.io",
     "CertificateSigningRequest",
     "approval",
     {"spec", "status.certificate"}},
    {"apiregistration.k8s.io", "APIService", "status", {"metadata"}},
    {"admissionregistration.k8s.io", "ValidatingAdmissionPolicy", "status", {"metadata"}},
    {"flowcontrol.apiserver.k8s.io", "FlowSchema", "status", {"metadata"}},
    {"flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration", "status", {"metadata"}},
    {"networking.k8s.io", "ServiceCIDR", "status", {"metadata"}},
    {"resource.k8s.io", "ResourceClaim", "status", {"metadata"}},
    {"storage.k8s.io", "VolumeAttachment", "status", {"metadata"}},
};

FieldPath path_of(std::string_view dotted) {
  FieldPath path;
  for (std::string_view name : split(dotted, '.')) path.push_back(field_element(name));
  return path;
}

}  // namespace

FieldSet reset_fields(std::string_view group, std::string_view kind, std::string_view subresource,
                      bool is_custom, bool has_status) {
  FieldSet out;
  if (subresource.empty() && has_status) out.insert({"f:status"});
  if (subresource == "status") out.insert({"f:spec"});
  if (subresource == "status" && is_custom) out.insert({"f:metadata"});
  for (const Exception& exception : kExceptions) {
    if (is_custom || exception.group != group || exception.kind != kind ||
        exception.subresource != subresource)
      continue;
    for (std::string_view field : exception.fields)
      if (!field.empty()) out.insert(path_of(field));
  }
  return out;
}

FieldSet kept_fields(std::string_view group, std::string_view kind, std::string_view subresource,
                     bool is_custom, bool has_status) {
  FieldSet out = reset_fields(group, kind, subresource, is_custom, has_status);
  return subresource == "status"
             ? out.recursive_difference(FieldSet::of({{"f:status", "f:conditions"}}))
             : out;
}

}  // namespace cardea::schema
