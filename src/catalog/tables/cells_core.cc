#include <algorithm>
#include <set>

#include "base/strings.h"
#include "catalog/label_text.h"
#include "catalog/tables/cells.h"

// The rest of the core group, networking and storage.
namespace cardea::catalog::cells {

using json::Value;

namespace {

Value config_size(const Value& map, const TableContext&) {
  return static_cast<std::int64_t>(map["data"].size() + map["binaryData"].size());
}

// Services and addresses.

std::string service_ports(const Value& ports) {
  std::vector<std::string> out;
  for (const Value& port : ports.items()) {
    auto node_port = port["nodePort"].as_int();
    out.push_back(node_port > 0 ? cat(port["port"].as_int(), ":", node_port, "/",
                                      port["protocol"].as_string())
                                : cat(port["port"].as_int(), "/", port["protocol"].as_string()));
  }
  return join(out, ",");
}

std::vector<std::string> texts(const Value& list) {
  std::vector<std::string> out;
  for (const Value& item : list.items()) out.emplace_back(item.as_string());
  return out;
}

std::vector<std::string> balancer_addresses(const Value& status) {
  std::set<std::string> out;
  for (const Value& ingress : status["loadBalancer"]["ingress"].items()) {
    auto ip = ingress["ip"].as_string(), host = ingress["hostname"].as_string();
    if (!ip.empty())
      out.emplace(ip);
    else if (!host.empty())
      out.emplace(host);
  }
  return {out.begin(), out.end()};
}

Value service_external(const Value& service, const TableContext&) {
  const Value& spec = service["spec"];
  std::string_view type = spec["type"].as_string();
  auto external = texts(spec["externalIPs"]);
  if (type == "ExternalName") return spec["externalName"];
  if (type == "ClusterIP" || type == "NodePort") return or_none(join(external, ","));
  if (type != "LoadBalancer") return "<unknown>";
  auto all = balancer_addresses(service["status"]);
  all.insert(all.end(), external.begin(), external.end());
  return all.empty() ? std::string("<pending>") : join(all, ",");
}
Value service_address(const Value& service, const TableContext&) {
  return or_none(std::string(service["spec"]["clusterIPs"][0].as_string()));
}
Value service_port_list(const Value& service, const TableContext&) {
  return or_none(service_ports(service["spec"]["ports"]));
}
Value service_selector(const Value& service, const TableContext&) {
  return or_none(labels_text(service["spec"]["selector"]));
}

std::string host_and_port(std::string_view host, std::int64_t port) {
  return host.find(':') == host.npos ? cat(host, ":", port) : cat("[", host, "]:", port);
}

Value endpoints(const Value& object, const TableContext&) {
  std::vector<std::string> out;
  for (const Value& subset : object["subsets"].items()) {
    if (subset["ports"].empty())
      for (const Value& address : subset["addresses"].items())
        out.emplace_back(address["ip"].as_string());
    for (const Value& port : subset["ports"].items())
      for (const Value& address : subset["addresses"].items())
        out.push_back(host_and_port(address["ip"].as_string(), port["port"].as_int()));
  }
  return object["subsets"].empty() ? std::string("<none>") : shortened(out, 3, out.size());
}

std::string or_unset(std::string text) {
  return text.empty() ? "<unset>" : text;
}

Value slice_ports(const Value& slice, const TableContext&) {
  std::vector<std::string> out;
  for (const Value& port : slice["ports"].items()) {
    if (port["port"].is_int())
      out.push_back(std::to_string(port["port"].as_int()));
    else
      out.emplace_back(port["name"].is_string() ? port["name"].as_string() : "*");
  }
  return or_unset(shortened(out, 3, out.size()));
}

Value slice_endpoints(const Value& slice, const TableContext&) {
  std::vector<std::string> out;
  for (const Value& endpoint : slice["endpoints"].items())
    for (const Value& address : endpoint["addresses"].items())
      out.emplace_back(address.as_string());
  return or_unset(shortened(out, 3, out.size()));
}

Value ingress_hosts(const Value& ingress, const TableContext&) {
  std::vector<std::string> out;
  auto rules = ingress["spec"]["rules"].items();
  bool more = false;
  for (const Value& rule : rules) {
    if (out.size() == 3) more = true;
    if (!more && !rule["host"].as_string().empty()) out.emplace_back(rule["host"].as_string());
  }
  if (out.empty()) return "*";
  return more ? cat(join(out, ","), " + ", rules.size() - 3, " more...") : join(out, ",");
}
Value ingress_addresses(const Value& ingress, const TableContext&) {
  return join(balancer_addresses(ingress["status"]), ",");
}
Value ingress_ports(const Value& ingress, const TableContext&) {
  return ingress["spec"]["tls"].empty() ? "80" : "80, 443";
}

bool annotated(const Value& object, std::string_view annotation) {
  return object["metadata"]["annotations"][annotation].as_string() == "true";
}

std::string marked_default(const Value& object, bool is_default) {
  return cat(object["metadata"]["name"].as_string(), is_default ? " (default)" : "");
}

Value ingress_class_name(const Value& object, const TableContext&) {
  return marked_default(object, annotated(object, "ingressclass.kubernetes.io/is-default-class"));
}
Value ingress_class_parameters(const Value& object, const TableContext&) {
  const Value& parameters = object["spec"]["parameters"];
  if (parameters.is_null()) return "<none>";
  std::string kind(parameters["kind"].as_string());
  if (parameters["apiGroup"].is_string()) kind += cat(".", parameters["apiGroup"].as_string());
  return cat(kind, "/", parameters["name"].as_string());
}

Value policy_selector(const Value& policy, const TableContext&) {
  return or_none(selector_text(policy["spec"]["podSelector"]));
}
Value service_ranges(const Value& object, const TableContext&) {
  return join(texts(object["spec"]["cidrs"]), ",");
}
Value address_parent(const Value& object, const TableContext&) {
  const Value& parent = object["spec"]["parentRef"];
  if (parent.is_null()) return "<none>";
  std::string out = lower(parent["resource"].as_string());
  if (auto group = parent["group"].as_string(); !group.empty()) out += cat(".", lower(group));
  if (auto ns = parent["namespace"].as_string(); !ns.empty()) out += cat("/", ns);
  return cat(out, "/", parent["name"].as_string());
}

// Volumes.

std::string access_modes(const Value& modes) {
  std::vector<std::string> out;
  for (auto [mode, short_form] : {std::pair("ReadWriteOnce", "RWO"),
                                  {"ReadOnlyMany", "ROX"},
                                  {"ReadWriteMany", "RWX"},
                                  {"ReadWriteOncePod", "RWOP"}})
    if (std::ranges::find(modes.items(), Value(mode)) != modes.items().end())
      out.emplace_back(short_form);
  return join(out, ",");
}

// An annotation was used for the class before there was a field; the annotation still wins.
Value storage_class(const Value& object, const TableContext&) {
  const Value& annotation = object["metadata"]["annotations"]
                                  ["volume.beta.kubernetes.io/storage-class"];
  return annotation.is_string() ? annotation
                                : Value(object["spec"]["storageClassName"].as_string());
}

Value volume_modes(const Value& volume, const TableContext&) {
  return access_modes(volume["spec"]["accessModes"]);
}
Value volume_phase(const Value& volume, const TableContext&) {
  return volume["metadata"].has("deletionTimestamp") ? Value("Terminating")
                                                     : Value(volume["status"]["phase"].as_string());
}
Value volume_claim(const Value& volume, const TableContext&) {
  const Value& claim = volume["spec"]["claimRef"];
  return claim.is_null() ? std::string()
                         : cat(claim["namespace"].as_string(), "/", claim["name"].as_string());
}
Value claim_capacity(const Value& claim, const TableContext&) {
  if (claim["spec"]["volumeName"].as_string().empty()) return "";
  const Value& capacity = claim["status"]["capacity"]["storage"];
  return capacity.is_null() ? Value("0") : capacity;
}
Value claim_modes(const Value& claim, const TableContext&) {
  return claim["spec"]["volumeName"].as_string().empty()
             ? std::string()
             : access_modes(claim["status"]["accessModes"]);
}
Value storage_class_name(const Value& object, const TableContext&) {
  return marked_default(object,
                        annotated(object, "storageclass.kubernetes.io/is-default-class") ||
                            annotated(object, "storageclass.beta.kubernetes.io/is-default-class"));
}
Value driver_audiences(const Value& driver, const TableContext&) {
  const Value& requests = driver["spec"]["tokenRequests"];
  if (requests.is_null()) return "<unset>";
  std::vector<std::string> out;
  for (const Value& request : requests.items()) out.emplace_back(request["audience"].as_string());
  return join(out, ",");
}
Value driver_modes(const Value& driver, const TableContext&) {
  return or_none(join(texts(driver["spec"]["volumeLifecycleModes"]), ","));
}

// Events. They arrive in the core group's form.

std::string event_first(const Value& event, const TableContext& context) {
  return age_at(event, "firstTimestamp", context, age_at(event, "eventTime", context));
}
Value event_first_seen(const Value& event, const TableContext& context) {
  return event_first(event, context);
}
Value event_last_seen(const Value& event, const TableContext& context) {
  if (event["series"].is_object()) return age_at(event, "series.lastObservedTime", context);
  return age_at(event, "lastTimestamp", context, event_first(event, context));
}
Value event_object(const Value& event, const TableContext&) {
  const Value& object = event["involvedObject"];
  std::string kind = lower(object["kind"].as_string());
  return object["name"].as_string().empty() ? kind : cat(kind, "/", object["name"].as_string());
}
Value event_source(const Value& event, const TableContext&) {
  auto either = [](const Value& a, const Value& b) {
    return std::string(a.as_string().empty() ? b.as_string() : a.as_string());
  };
  std::string component = either(event["source"]["component"], event["reportingComponent"]);
  std::string instance = either(event["source"]["host"], event["reportingInstance"]);
  return instance.empty() ? component : cat(component, ", ", instance);
}
Value event_message(const Value& event, const TableContext&) {
  return trim(event["message"].as_string());
}
Value event_count(const Value& event, const TableContext&) {
  if (event["series"].is_object()) return event["series"]["count"].as_int();
  return std::max<std::int64_t>(event["count"].as_int(), 1);
}

// Quotas.

std::string quota_part(const Value& quota, bool limits) {
  std::vector<std::string> out;
  auto amount = [](const Value& value) {
    return value.is_string() ? value.as_string() : std::string_view("0");
  };
  for (const auto& [key, hard] : quota["status"]["hard"].members()) {
    std::string_view resource = key.as_string();
    if (resource.starts_with("limits.") != limits) continue;
    out.push_back(
        cat(resource, ": ", amount(quota["status"]["used"][resource]), "/", amount(hard)));
  }
  return join(out, ", ");
}
Value quota_requests(const Value& quota, const TableContext&) {
  return quota_part(quota, false);
}
Value quota_limits(const Value& quota, const TableContext&) {
  return quota_part(quota, true);
}

constexpr Cell kConfigMap[] = {name(), computed(config_size), age()};
constexpr Cell kSecret[] = {name(), text("type"), count("data"), age()};
constexpr Cell kNameAndAge[] = {name(), age()};
constexpr Cell kNamespace[] = {name(), text("status.phase"), age()};
constexpr Cell kEndpoints[] = {name(), computed(endpoints), age()};
constexpr Cell kService[] = {name(),
                             text("spec.type"),
                             computed(service_address),
                             computed(service_external),
                             computed(service_port_list),
                             age(),
                             computed(service_selector)};
constexpr Cell kEvent[] = {computed(event_last_seen),
                           text("type"),
                           text("reason"),
                           computed(event_object),
                           text("involvedObject.fieldPath"),
                           computed(event_source),
                           computed(event_message),
                           computed(event_first_seen),
                           computed(event_count),
                           name()};
constexpr Cell kQuota[] = {name(), computed(quota_requests), computed(quota_limits), age()};
constexpr Cell kVolume[] = {name(),
                            text("spec.capacity.storage", "0"),
                            computed(volume_modes),
                            text("spec.persistentVolumeReclaimPolicy"),
                            computed(volume_phase),
                            computed(volume_claim),
                            computed(storage_class),
                            text("spec.volumeAttributesClassName", "<unset>"),
                            text("status.reason"),
                            age(),
                            text("spec.volumeMode", "<unset>")};
constexpr Cell kClaim[] = {name(),
                           computed(volume_phase),
                           text("spec.volumeName"),
                           computed(claim_capacity),
                           computed(claim_modes),
                           computed(storage_class),
                           text("spec.volumeAttributesClassName", "<unset>"),
                           age(),
                           text("spec.volumeMode", "<unset>")};
constexpr Cell kSlice[] = {name(), text("addressType"), computed(slice_ports),
                           computed(slice_endpoints), age()};
constexpr Cell kIngress[] = {name(),
                             text("spec.ingressClassName", "<none>"),
                             computed(ingress_hosts),
                             computed(ingress_addresses),
                             computed(ingress_ports),
                             age()};
constexpr Cell kIngressClass[] = {computed(ingress_class_name), text("spec.controller"),
                                  computed(ingress_class_parameters), age()};
// Kubernetes sends one more cell here, an age, without a column for it.
constexpr Cell kAddress[] = {name(), computed(address_parent), age()};
constexpr Cell kNetworkPolicy[] = {name(), computed(policy_selector), age()};
constexpr Cell kServiceRange[] = {name(), computed(service_ranges), age()};
constexpr Cell kStorageClass[] = {
    computed(storage_class_name),    text("provisioner"),
    text("reclaimPolicy", "Delete"), text("volumeBindingMode", "Immediate"),
    boolean("allowVolumeExpansion"), age()};
constexpr Cell kDriver[] = {name(),
                            boolean("spec.attachRequired", true),
                            boolean("spec.podInfoOnMount"),
                            boolean("spec.storageCapacity"),
                            computed(driver_audiences),
                            boolean("spec.requiresRepublish"),
                            computed(driver_modes),
                            age()};
constexpr Cell kDriverNode[] = {name(), count("spec.drivers"), age()};
constexpr Cell kAttachment[] = {name(),
                                text("spec.attacher"),
                                text("spec.source.persistentVolumeName"),
                                text("spec.nodeName"),
                                boolean("status.attached"),
                                age()};
constexpr Cell kAttributesClass[] = {name(), text("driverName"), age()};

constexpr KindCells kKinds[] = {
    {"", "ConfigMap", kConfigMap},
    {"", "Secret", kSecret},
    {"", "ServiceAccount", kNameAndAge},
    {"", "Namespace", kNamespace},
    {"", "Endpoints", kEndpoints},
    {"", "Service", kService},
    {"", "Event", kEvent},
    {"events.k8s.io", "Event", kEvent},
    {"", "ResourceQuota", kQuota},
    {"", "PersistentVolume", kVolume},
    {"", "PersistentVolumeClaim", kClaim},
    {"discovery.k8s.io", "EndpointSlice", kSlice},
    {"networking.k8s.io", "Ingress", kIngress},
    {"networking.k8s.io", "IngressClass", kIngressClass},
    {"networking.k8s.io", "IPAddress", kAddress},
    {"networking.k8s.io", "NetworkPolicy", kNetworkPolicy},
    {"networking.k8s.io", "ServiceCIDR", kServiceRange},
    {"storage.k8s.io", "StorageClass", kStorageClass},
    {"storage.k8s.io", "CSIDriver", kDriver},
    {"storage.k8s.io", "CSINode", kDriverNode},
    {"storage.k8s.io", "VolumeAttachment", kAttachment},
    {"storage.k8s.io", "VolumeAttributesClass", kAttributesClass},
};

}  // namespace

std::span<const KindCells> core_cells() {
  return kKinds;
}

}  // namespace cardea::catalog::cells
