#include "rest/boot/bootstrap.h"

#include "base/strings.h"
#include "catalog/kinds/strategies.h"

namespace cardea::rest {

using json::Value;

namespace {

Value meta(std::string_view name) {
  return Value::object({{"name", name}});
}

// Creates unless it is there. Asks first: a create takes addresses before it finds that the name is
// taken, and those of a service that exists are in use. The reply's own message explains a failure.
Result<void> ensure(const Loopback& api, const std::string& path, const Value& object) {
  if (api.send_and_wait("GET", cat(path, "/", object["metadata"]["name"].as_string())).ok())
    return {};
  Loopback::Reply reply = api.send_and_wait("POST", path, object);
  if (reply.ok() || reply.status == 409) return {};
  return fail(internal_error(cat("bootstrap of ", path, ": ", reply.body["message"].as_string())));
}

Result<void> namespaces(const Loopback& api) {
  for (std::string_view name : {"kube-system", "kube-public", "kube-node-lease", "default"})
    if (auto ok = ensure(
            api, "/api/v1/namespaces",
            Value::object({{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", meta(name)}}));
        !ok)
      return ok;
  return {};
}

Value kubernetes_service(const BootstrapOptions& o) {
  Value port = Value::object({{"name", "https"},
                              {"protocol", "TCP"},
                              {"port", 443},
                              {"targetPort", static_cast<int>(o.server_port)}});
  Value metadata = meta("kubernetes");
  metadata.set("labels", Value::object({{"component", "apiserver"}, {"provider", "kubernetes"}}));
  return Value::object({{"apiVersion", "v1"},
                        {"kind", "Service"},
                        {"metadata", metadata},
                        {"spec", Value::object({{"type", "ClusterIP"},
                                                {"clusterIP", o.service_address},
                                                {"sessionAffinity", "None"},
                                                {"ports", Value::array({port})}})}});
}

Value service_cidr(const BootstrapOptions& o) {
  return Value::object(
      {{"apiVersion", "networking.k8s.io/v1"},
       {"kind", "ServiceCIDR"},
       {"metadata", meta("kubernetes")},
       {"spec", Value::object({{"cidrs", Value::array({o.service_cluster_ip_range})}})}});
}

// Extension servers read it to believe what we tell them of our clients. It follows the flags of
// this start.
Result<void> publish_authentication(const Loopback& api, const BootstrapOptions& o) {
  constexpr std::string_view kPath = "/api/v1/namespaces/kube-system/configmaps";
  constexpr std::string_view kName = "extension-apiserver-authentication";
  Value data = Value::object();
  for (const auto& [key, text] : o.authentication) data.set(key, text);
  Loopback::Reply found = api.send_and_wait("GET", cat(kPath, "/", kName));
  if (found.ok() && found.body["data"] == data) return {};
  Value object = found.ok() ? found.body
                            : Value::object({{"apiVersion", "v1"},
                                             {"kind", "ConfigMap"},
                                             {"metadata", meta(kName)}});
  object.set("data", data);
  Loopback::Reply reply = found.ok() ? api.send_and_wait("PUT", cat(kPath, "/", kName), object)
                                     : api.send_and_wait("POST", std::string(kPath), object);
  if (reply.ok()) return {};
  return fail(internal_error(cat("bootstrap of ", kName, ": ", reply.body["message"].as_string())));
}

}  // namespace

Result<void> bootstrap(const Loopback& api, const BootstrapOptions& o) {
  if (auto ok = namespaces(api); !ok) return ok;
  for (const Value& c : catalog::bootstrap_priority_classes())
    if (auto ok = ensure(api, "/apis/scheduling.k8s.io/v1/priorityclasses", c); !ok) return ok;
  for (const Value& c : catalog::bootstrap_flow_control(o.now)) {
    bool is_schema = c["kind"].as_string() == "FlowSchema";
    std::string path = cat("/apis/flowcontrol.apiserver.k8s.io/v1/",
                           is_schema ? "flowschemas" : "prioritylevelconfigurations");
    if (auto ok = ensure(api, path, c); !ok) return ok;
  }
  if (auto ok = ensure(api, "/apis/networking.k8s.io/v1/servicecidrs", service_cidr(o)); !ok)
    return ok;
  if (auto ok = ensure(api, "/api/v1/namespaces/default/services", kubernetes_service(o)); !ok)
    return ok;
  return publish_authentication(api, o);
}

}  // namespace cardea::rest
