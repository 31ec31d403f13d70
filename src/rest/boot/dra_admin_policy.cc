#include "rest/boot/dra_admin_policy.h"

#include "base/strings.h"

namespace cardea::rest {
namespace {

using json::Value;

constexpr std::string_view kExpression =
    "namespaceObject.?metadata.?labels[?'resource.kubernetes.io/admin-access'].orValue('') != "
    "'true' && "
    "[object.?spec.?devices.?requests.orValue([]), "
    "object.?spec.?spec.?devices.?requests.orValue([])].exists(requests, "
    "requests.exists(r, r.?exactly.?adminAccess.orValue(false) == true || "
    "r.?adminAccess.orValue(false) == true))";

}  // namespace

Value dra_admin_policy() {
  Value rule = Value::object(
      {{"verbs", Value::array({"create", "update", "patch"})},
       {"apiGroups", Value::array({"resource.k8s.io"})},
       {"resources", Value::array({"resourceclaims", "resourceclaimtemplates"})}});
  return Value::object(
      {{"apiVersion", "access.cardea.dev/v1alpha1"},
       {"kind", "ClusterAccessPolicy"},
       {"metadata", Value::object({{"name", kDraAdminPolicy}})},
       {"spec", Value::object({{"effect", "Deny"},
                               {"description",
                                "adminAccess to devices needs a namespace with the label "
                                "resource.kubernetes.io/admin-access=true"},
                               {"rules", Value::array({rule})},
                               {"expression", kExpression}})}});
}

Result<void> ensure_dra_admin_policy(const Loopback& api) {
  const std::string object_path = cat(kClusterAccessPolicies, "/", kDraAdminPolicy);
  Value wanted = dra_admin_policy();
  Loopback::Reply reply = api.send_and_wait("POST", std::string(kClusterAccessPolicies), wanted);
  if (reply.status == 409) {
    Value object = api.send_and_wait("GET", object_path).body;
    object.set("spec", wanted["spec"]);
    reply = api.send_and_wait("PUT", object_path, std::move(object));
  }
  if (reply.ok()) return {};
  return fail(internal_error(
      cat("the policy dra-admin-access cannot be written: ", reply.body["message"].as_string())));
}

}  // namespace cardea::rest
