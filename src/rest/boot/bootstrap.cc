#include "rest/boot/bootstrap.h"

#include "base/strings.h"
#include "catalog/kinds/apiregistration/local_api_service.h"
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
  const std::string own_path = cat(path, "/", object["metadata"]["name"].as_string());
  if (api.send_and_wait("GET", own_path).ok()) return {};
  Loopback::Reply reply = api.send_and_wait("POST", path, object);
  if (reply.ok() || reply.status == 409) return {};
  // Another server that starts at the same time may have been first.
  if (api.send_and_wait("GET", own_path).ok()) return {};
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

Value server_port(const BootstrapOptions& o) {
  return Value::object(
      {{"name", "https"}, {"port", static_cast<int>(o.server_port)}, {"protocol", "TCP"}});
}

Value kubernetes_endpoints(const BootstrapOptions& o) {
  Value metadata = meta("kubernetes");
  metadata.set("labels", Value::object({{"endpointslice.kubernetes.io/skip-mirror", "true"}}));
  Value address = Value::object({{"ip", o.server_address}});
  Value subset = Value::object(
      {{"addresses", Value::array({address})}, {"ports", Value::array({server_port(o)})}});
  return Value::object({{"apiVersion", "v1"},
                        {"kind", "Endpoints"},
                        {"metadata", metadata},
                        {"subsets", Value::array({subset})}});
}

Value kubernetes_endpoint_slice(const BootstrapOptions& o) {
  Value metadata = meta("kubernetes");
  metadata.set("labels", Value::object({{"kubernetes.io/service-name", "kubernetes"}}));
  Value endpoint = Value::object({{"addresses", Value::array({o.server_address})},
                                  {"conditions", Value::object({{"ready", true}})}});
  return Value::object({{"apiVersion", "discovery.k8s.io/v1"},
                        {"kind", "EndpointSlice"},
                        {"metadata", metadata},
                        {"addressType", o.server_address.contains(':') ? "IPv6" : "IPv4"},
                        {"endpoints", Value::array({endpoint})},
                        {"ports", Value::array({server_port(o)})}});
}

// Since when tokens of service accounts in Secrets are tracked: controllers wait for it.
Value token_tracking(const BootstrapOptions& o) {
  return Value::object({{"apiVersion", "v1"},
                        {"kind", "ConfigMap"},
                        {"metadata", meta("kube-apiserver-legacy-service-account-token-tracking")},
                        {"data", Value::object({{"since", o.now.substr(0, o.now.find('T'))}})}});
}

constexpr std::string_view kRanges = "/apis/networking.k8s.io/v1/servicecidrs";

Value service_cidr(const BootstrapOptions& o) {
  Value ranges = Value::array({o.service_ranges.begin(), o.service_ranges.end()});
  return Value::object({{"apiVersion", "networking.k8s.io/v1"},
                        {"kind", "ServiceCIDR"},
                        {"metadata", meta("kubernetes")},
                        {"spec", Value::object({{"cidrs", std::move(ranges)}})}});
}

// The range that the flags name. One that is stored stays, because services have addresses of it;
// only a second family may be added.
Result<void> ensure_ranges(const Loopback& api, const BootstrapOptions& o) {
  const std::string path = cat(kRanges, "/kubernetes");
  const Value wanted = service_cidr(o);
  if (auto ok = ensure(api, std::string(kRanges), wanted); !ok) return ok;
  Value stored = api.send_and_wait("GET", path).body;
  const Value has = stored["spec"]["cidrs"], asked = wanted["spec"]["cidrs"];
  if (has.size() == 1 && asked.size() == 2 && has[0] == asked[0]) {
    stored.set("spec", wanted["spec"]);
    if (Loopback::Reply reply = api.send_and_wait("PUT", path, stored); !reply.ok())
      return fail(
          internal_error(cat("bootstrap of ", path, ": ", reply.body["message"].as_string())));
  }
  if (has != asked || !stored["status"]["conditions"].empty()) return {};
  Value ready = Value::object({{"type", "Ready"},
                               {"status", "True"},
                               {"reason", ""},
                               {"message", "Kubernetes default Service CIDR is ready"},
                               {"lastTransitionTime", o.now}});
  Value status = Value::object(
      {{"apiVersion", wanted["apiVersion"]},
       {"kind", wanted["kind"]},
       {"metadata", meta("kubernetes")},
       {"status", Value::object({{"conditions", Value::array({std::move(ready)})}})}});
  Loopback::Reply reply = api.send_and_wait(
      "PATCH", cat(path, "/status?fieldManager=kubernetes-service-cidr-controller&force=true"),
      std::move(status), "application/apply-patch+yaml");
  if (reply.ok()) return {};
  return fail(internal_error(cat("bootstrap of ", path, ": ", reply.body["message"].as_string())));
}

// Makes `member` of a stored object what it is in `object`; creates the object when it is absent.
// For what follows the flags of this start.
Result<void> ensure_same(const Loopback& api, const std::string& collection, const Value& object,
                         std::initializer_list<std::string_view> members) {
  const std::string path = cat(collection, "/", object["metadata"]["name"].as_string());
  Loopback::Reply found = api.send_and_wait("GET", path);
  Value wanted = found.ok() ? found.body : object;
  bool is_same = found.ok();
  for (std::string_view member : members) {
    is_same = is_same && found.body[member] == object[member];
    wanted.set(member, object[member]);
  }
  if (is_same) return {};
  Loopback::Reply reply = found.ok() ? api.send_and_wait("PUT", path, wanted)
                                     : api.send_and_wait("POST", collection, wanted);
  if (reply.ok()) return {};
  return fail(internal_error(cat("bootstrap of ", path, ": ", reply.body["message"].as_string())));
}

// Extension servers read this object, to verify what this server says about its clients. It follows
// the flags of this start.
Result<void> publish_authentication(const Loopback& api, const BootstrapOptions& o) {
  constexpr std::string_view kPath = "/api/v1/namespaces/kube-system/configmaps";
  constexpr std::string_view kName = "extension-apiserver-authentication";
  Value data = Value::object();
  for (const auto& [key, text] : o.authentication) data.set(key, text);
  return ensure_same(
      api, std::string(kPath),
      Value::object(
          {{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", meta(kName)}, {"data", data}}),
      {"data"});
}

}  // namespace

Result<void> bootstrap(const Loopback& api, const catalog::Catalog& catalog,
                       const BootstrapOptions& o) {
  if (auto ok = namespaces(api); !ok) return ok;
  for (const Value& s : catalog::built_in_api_services(catalog))
    if (auto ok = ensure(api, "/apis/apiregistration.k8s.io/v1/apiservices", s); !ok) return ok;
  for (const Value& c : catalog::bootstrap_priority_classes())
    if (auto ok = ensure(api, "/apis/scheduling.k8s.io/v1/priorityclasses", c); !ok) return ok;
  for (const Value& c : catalog::bootstrap_flow_control(o.now)) {
    bool is_schema = c["kind"].as_string() == "FlowSchema";
    std::string path = cat("/apis/flowcontrol.apiserver.k8s.io/v1/",
                           is_schema ? "flowschemas" : "prioritylevelconfigurations");
    if (auto ok = ensure(api, path, c); !ok) return ok;
  }
  if (auto ok = ensure_ranges(api, o); !ok) return ok;
  if (auto ok = ensure(api, "/api/v1/namespaces/default/services", kubernetes_service(o)); !ok)
    return ok;
  if (auto ok = ensure(api, "/api/v1/namespaces/kube-system/configmaps", token_tracking(o)); !ok)
    return ok;
  if (!o.server_address.empty()) {
    if (auto ok = ensure_same(api, "/api/v1/namespaces/default/endpoints", kubernetes_endpoints(o),
                              {"subsets"});
        !ok)
      return ok;
    if (auto ok = ensure_same(api, "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
                              kubernetes_endpoint_slice(o), {"endpoints", "ports"});
        !ok)
      return ok;
  }
  return publish_authentication(api, o);
}

}  // namespace cardea::rest
