#include "rest/policy/master_namespace.h"

#include "authz/namespace_policy/documents.h"
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

Value rule(Value verbs, Value kinds) {
  return Value::object({{"verbs", std::move(verbs)}, {"resourceKinds", std::move(kinds)}});
}

struct DefaultRole {
  std::string_view name;
  Value rules;
};

// Viewers see everything except roles and bindings; editors change what they see; admins change
// everything except the containers, under the escalation check; cluster-admins everything. The
// last rule of admins gives the permissions on single fields, which `*` without a write does
// not: an admin has all permissions of an editor. Neither gets by `*` the permissions that are
// excluded from whole objects.
std::vector<DefaultRole> default_roles() {
  Value all = texts({"*"});
  Value reads = texts({"watch", "list", "get"}), writes = texts({"create", "update", "delete"});
  Value others = texts({"*", "-create", "-update", "-delete"}),
        no_containers = texts({"*", "-policies", "-policybindings"});
  return {{"view", Value::array({rule(reads, texts({"*", "-roles", "-rolebindings",
                                                    "-policybindings", "-policies"}))})},
          {"edit", Value::array({rule(all, texts({"*", "-roles", "-rolebindings", "-policybindings",
                                                  "-policies", "-resourceaccessreview"}))})},
          {"admin", Value::array({rule(others, all), rule(writes, no_containers),
                                  rule(all, no_containers)})},
          {"cluster-admin", Value::array({rule(all, all)})}};
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

// The role as it must be: made, or its rules put back.
Result<void> reconcile_role(const Loopback& api, const std::string& collection,
                            const DefaultRole& role) {
  std::string path = cat(collection, "/", role.name);
  Loopback::Reply found = api.send_and_wait("GET", path);
  Value object = found.ok() ? found.body : object_of("Role", role.name);
  if (found.ok() && object["rules"] == role.rules) return {};
  object.set("rules", role.rules);
  Loopback::Reply reply = found.ok() ? api.send_and_wait("PUT", path, object)
                                     : api.send_and_wait("POST", collection, object);
  if (reply.ok()) return {};
  return fail(internal_error(cat("reconciling ", path, ": ", reply.body["message"].as_string())));
}

}  // namespace

std::unique_ptr<admission::Plugin> keep_master_namespace(std::string master) {
  return std::make_unique<KeepMasterNamespace>(std::move(master));
}

Result<void> ensure_master_namespace(const Loopback& api, const std::string& master) {
  Value space = Value::object({{"kind", "Namespace"},
                               {"apiVersion", "v1"},
                               {"metadata", Value::object({{"name", master}})}});
  if (auto ok = ensure(api, "/api/v1/namespaces", space); !ok) return ok;
  std::string base = cat("/apis/", documents::kApiVersion, "/namespaces/", master);
  if (auto ok = ensure(api, base + "/policies", object_of("Policy", documents::kPolicyName)); !ok)
    return ok;
  if (auto ok = ensure(api, base + "/policybindings", object_of("PolicyBinding", master)); !ok)
    return ok;
  for (const DefaultRole& role : default_roles())
    if (auto ok = reconcile_role(api, base + "/roles", role); !ok) return ok;
  Value binding = object_of("RoleBinding", "cluster-admins");
  binding.set("roleRef", Value::object({{"namespace", master}, {"name", "cluster-admin"}}));
  binding.set("groupNames", texts({"system:masters"}));
  return ensure(api, base + "/rolebindings", binding);
}

}  // namespace cardea::rest::policy
