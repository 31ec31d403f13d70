#include "rest/policy/master_namespace.h"

#include "authz/namespace_policy/default_roles.h"
#include "authz/namespace_policy/documents.h"
#include "authz/rbac/bootstrap_policy.h"
#include "base/strings.h"

namespace cardea::rest::policy {

namespace documents = authz::namespace_policy;
using json::Value;

namespace {

class KeepMasterNamespace : public admission::Plugin {
 public:
  explicit KeepMasterNamespace(std::string master) : master_(std::move(master)) {}
  std::string_view name() const override { return "PolicyMasterNamespace"; }

  bool handles(const admission::Review& r) const override {
    return r.operation == admission::Operation::kDelete && r.resource.group.empty() &&
           r.resource.name == "namespaces" && r.subresource.empty();
  }

  Task<Result<void>> validate(const admission::Review& r) const override {
    bool is_master = r.old_object && (*r.old_object)["metadata"]["name"].as_string() == master_;
    if (!is_master) co_return Result<void>();
    co_return fail(
        Error::of(Reason::kForbidden, cat("namespaces ", quoted(master_),
                                          " is forbidden: this namespace may not be deleted"))
            .with({.name = master_, .kind = "namespaces"}));
  }

 private:
  const std::string master_;
};

Value texts(std::initializer_list<std::string_view> list) {
  Value out = Value::array();
  for (std::string_view text : list) out.push_back(text);
  return out;
}

Value object_of(std::string_view kind, std::string_view name) {
  return Value::object({{"kind", kind},
                        {"apiVersion", documents::kApiVersion},
                        {"metadata", Value::object({{"name", name}})}});
}

Result<void> outcome_of(const Loopback::Reply& reply, const std::string& path) {
  if (reply.ok() || reply.status == 409) return {};
  return fail(internal_error(cat("bootstrap of ", path, ": ", reply.body["message"].as_string())));
}

Result<void> ensure(const Loopback& api, const std::string& path, const Value& object) {
  if (api.send_and_wait("GET", cat(path, "/", object["metadata"]["name"].as_string())).ok())
    return {};
  return outcome_of(api.send_and_wait("POST", path, object), path);
}

// Whether somebody else than the server wrote the rules, as far as the object tells. The one that
// wrote them last owns them.
bool is_written_by_others(const Value& role, std::string_view server) {
  bool is_ours = false;
  for (const Value& entry : role["metadata"]["managedFields"].items()) {
    if (!entry["fieldsV1"].has("f:rules")) continue;
    if (entry["manager"].as_string() != server) return true;
    is_ours = true;
  }
  return !is_ours;
}

// The role as the server makes it. One that others changed stays as it is, unless `reset`.
Result<void> reconcile_role(const Loopback& api, const std::string& collection,
                            const documents::Role& role, Seeding& seeding) {
  const Value rules = documents::as_json(role)["rules"];
  std::string path = cat(collection, "/", role.name);
  Loopback::Reply found = api.send_and_wait("GET", path);
  Value object = found.ok() ? found.body : object_of("Role", role.name);
  if (found.ok() && object["rules"] == rules) return {};
  if (found.ok() && !seeding.reset &&
      (authz::rbac::is_protected(object) || is_written_by_others(object, api.agent()))) {
    seeding.left_alone.push_back(role.name);
    return {};
  }
  object.set("rules", rules);
  Loopback::Reply reply = found.ok() ? api.send_and_wait("PUT", path, object)
                                     : api.send_and_wait("POST", collection, object);
  if (reply.ok()) return {};
  return fail(internal_error(cat("reconciling ", path, ": ", reply.body["message"].as_string())));
}

}  // namespace

std::unique_ptr<admission::Plugin> keep_master_namespace(std::string master) {
  return std::make_unique<KeepMasterNamespace>(std::move(master));
}

Result<void> ensure_master_namespace(const Loopback& api, const std::string& master,
                                     Seeding& seeding) {
  Value space = Value::object({{"kind", "Namespace"},
                               {"apiVersion", "v1"},
                               {"metadata", Value::object({{"name", master}})}});
  if (auto ok = ensure(api, "/api/v1/namespaces", space); !ok) return ok;
  std::string base = cat("/apis/", documents::kApiVersion, "/namespaces/", master);
  if (auto ok = ensure(api, base + "/policies", object_of("Policy", documents::kPolicyName)); !ok)
    return ok;
  if (auto ok = ensure(api, base + "/policybindings", object_of("PolicyBinding", master)); !ok)
    return ok;
  for (const documents::Role& role : documents::default_roles(master))
    if (auto ok = reconcile_role(api, base + "/roles", role, seeding); !ok) return ok;
  Value binding = object_of("RoleBinding", "cluster-admins");
  binding.set("roleRef", Value::object({{"namespace", master}, {"name", "cluster-admin"}}));
  binding.set("groupNames", texts({"system:masters"}));
  return ensure(api, base + "/rolebindings", binding);
}

}  // namespace cardea::rest::policy
