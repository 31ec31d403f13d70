#include <set>

#include "catalog/kinds/check.h"
#include "catalog/kinds/core/cluster_ip_fields.h"
#include "catalog/kinds/core/core_strategies.h"
#include "catalog/kinds/core/endpoint_address.h"
#include "catalog/kinds/core/pod_parts.h"
#include "catalog/kinds/core/service_allocator.h"
#include "catalog/kinds/go_value.h"
#include "catalog/kinds/ip.h"

namespace cardea::catalog {
namespace {

using std::string_view;

constexpr string_view kSourceRanges = "service.beta.kubernetes.io/load-balancer-source-ranges";
constexpr string_view kTopologyMode = "service.kubernetes.io/topology-mode";
constexpr string_view kTopologyHints = "service.kubernetes.io/topology-aware-hints";

string_view type_of(const Value& service) {
  return text(service["spec"], "type");
}
bool is_load_balancer(const Value& service) {
  return type_of(service) == "LoadBalancer";
}
bool has_node_ports(const Value& service) {
  return is_load_balancer(service) || type_of(service) == "NodePort";
}

void default_port(Value& port) {
  default_to(port, "protocol", "TCP");
  const Value& target = port["targetPort"];
  if (target.is_null() || (target.is_int() && target.as_int() == 0) ||
      (target.is_string() && target.as_string().empty()))
    port.set("targetPort", port["port"].is_null() ? Value(0) : port["port"]);
}

void default_affinity(Value& spec) {
  default_to(spec, "sessionAffinity", "None");
  if (text(spec, "sessionAffinity") == "None") spec.erase("sessionAffinityConfig");
  if (text(spec, "sessionAffinity") == "ClientIP" &&
      spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"].is_null())
    spec.set("sessionAffinityConfig",
             Value::object({{"clientIP", Value::object({{"timeoutSeconds", 10800}})}}));
}

void defaults(Value& object, const StrategyContext&) {
  Value& spec = object_member(object, "spec");
  default_affinity(spec);
  default_to(spec, "type", "ClusterIP");
  edit_items(spec, "ports", default_port);
  if (is_externally_accessible(object))
    default_to(object.member("spec"), "externalTrafficPolicy", "Cluster");
  Value& again = object.member("spec");
  std::string type(text(again, "type"));  // a copy, because the code below edits the object that
                                          // contains it
  if (type == "NodePort" || type == "LoadBalancer" || type == "ClusterIP")
    default_to(again, "internalTrafficPolicy", "Cluster");
  if (type != "LoadBalancer") return;
  if (again["allocateLoadBalancerNodePorts"].is_null())
    again.set("allocateLoadBalancerNodePorts", true);
  edit_member(object, "status", [](Value& status) {
    edit_member(status, "loadBalancer", [](Value& balancer) {
      edit_items(balancer, "ingress", [](Value& ingress) {
        if (!text(ingress, "ip").empty()) default_to(ingress, "ipMode", "VIP");
      });
    });
  });
}

void prepare_create(Value& object, const StrategyContext&) {
  object.set("status", Value::object({{"loadBalancer", Value::object()}}));
  // Services of this type route no traffic inside the cluster.
  if (type_of(object) == "ExternalName")
    edit_member(object, "spec", [](Value& spec) { spec.erase("internalTrafficPolicy"); });
}

void erase_if_same(Value& spec, const Value& old, string_view key) {
  if (semantically_equal(spec[key], old[key])) spec.erase(key);
}

std::set<std::int64_t> node_ports(const Value& service) {
  std::set<std::int64_t> out;
  for (const Value& port : service["spec"]["ports"].items())
    if (port["nodePort"].as_int() != 0) out.insert(port["nodePort"].as_int());
  return out;
}

// When the type of a service changes, fields of the old type are removed, unless the client set
// them anew.
void drop_what_the_type_lost(Value& object, const Value& old) {
  const Value& before = old["spec"];
  bool lost_address = type_of(old) != "ExternalName" && type_of(object) == "ExternalName";
  bool lost_ports = has_node_ports(old) && !has_node_ports(object) &&
                    std::ranges::includes(node_ports(old), node_ports(object));
  bool lost_health = needs_health_check(old) && !needs_health_check(object);
  bool lost_balancer = is_load_balancer(old) && !is_load_balancer(object);
  bool lost_access = is_externally_accessible(old) && !is_externally_accessible(object);
  Value& spec = object.member("spec");
  if (lost_address) {
    if (text(spec, "clusterIP") == text(before, "clusterIP") &&
        semantically_equal(spec["clusterIPs"], before["clusterIPs"])) {
      spec.erase("clusterIP");
      spec.erase("clusterIPs");
    }
    erase_if_same(spec, before, "ipFamilies");
    erase_if_same(spec, before, "ipFamilyPolicy");
  }
  if (lost_ports) edit_items(spec, "ports", [](Value& port) { port.erase("nodePort"); });
  if (lost_health) erase_if_same(spec, before, "healthCheckNodePort");
  if (lost_balancer) {
    erase_if_same(spec, before, "allocateLoadBalancerNodePorts");
    erase_if_same(spec, before, "loadBalancerClass");
  }
  if (lost_access) erase_if_same(spec, before, "externalTrafficPolicy");
  if (text(spec, "type") == "ExternalName") spec.erase("internalTrafficPolicy");
  if (text(spec, "type") != "LoadBalancer")
    edit_member(object, "status",
                [](Value& status) { status.set("loadBalancer", Value::object()); });
}

void prepare_update(Value& object, const Value& old, const StrategyContext& context) {
  keep_status(object, old, context);
  drop_what_the_type_lost(object, old);
}

void validate_port(const Value& port, bool named, std::set<string_view>& names, const Path& path,
                   FieldErrors& out) {
  string_view name = text(port, "name");
  if (named && name.empty()) out.push_back(json::required(path / "name"));
  if (!name.empty()) {
    complain(path / "name", name, dns1123_label(name), out);
    if (!names.insert(name).second) out.push_back(json::duplicate(path / "name", name));
  }
  for (const std::string& message : port_number(port["port"].as_int()))
    out.push_back(json::invalid(path / "port", port["port"].as_int(), message));
  require_one_of_or_missing(text(port, "protocol"), {"SCTP", "TCP", "UDP"}, path / "protocol", out);
  pod::validate_port_number_or_name(port["targetPort"], path / "targetPort", out);
  if (present(port, "appProtocol"))
    complain(path / "appProtocol", text(port, "appProtocol"),
             qualified_name(text(port, "appProtocol")), out);
}

void validate_ports(const Value& spec, FieldErrors& out) {
  std::set<string_view> names;
  bool named = spec["ports"].size() > 1;
  each(spec, "ports", "spec",
       [&](const Value& port, const Path& at) { validate_port(port, named, names, at, out); });
}

void validate_type_rules(const Value& service, FieldErrors& out) {
  const Value& spec = service["spec"];
  string_view type = type_of(service);
  if ((type == "LoadBalancer" || type == "NodePort") && is_headless(service))
    out.push_back(json::invalid("spec.clusterIPs[0]", "None",
                                cat("may not be set to 'None' for ", type, " services")));
  if (type != "ExternalName") return;
  for (const char* key : {"clusterIPs", "ipFamilies"})
    if (!spec[key].empty())
      out.push_back(
          json::forbidden(Path("spec") / key, "may not be set for ExternalName services"));
  if (present(spec, "ipFamilyPolicy"))
    out.push_back(
        json::forbidden("spec.ipFamilyPolicy", "may not be set for ExternalName services"));
  string_view name = text(spec, "externalName");
  if (name.ends_with('.')) name.remove_suffix(1);
  if (name.empty())
    out.push_back(json::required("spec.externalName"));
  else
    complain("spec.externalName", name, dns1123_subdomain(name), out);
}

void validate_session_affinity(const Value& spec, FieldErrors& out) {
  string_view affinity = text(spec, "sessionAffinity");
  Path path = "spec.sessionAffinityConfig";
  require_one_of_or_missing(affinity, {"ClientIP", "None"}, "spec.sessionAffinity", out);
  const Value& timeout = spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"];
  if (affinity == "ClientIP" && !timeout.is_null() &&
      (timeout.as_int() <= 0 || timeout.as_int() > 86400))
    out.push_back(json::invalid(path / "clientIP" / "timeoutSeconds", timeout,
                                "must be greater than 0 and less than 86400"));
  if (affinity == "None" && present(spec, "sessionAffinityConfig"))
    out.push_back(json::forbidden(path, "must not be set when session affinity is None"));
}

void validate_external_ips(const Value& service, const Value* old, FieldErrors& out) {
  each(service["spec"], "externalIPs", "spec", [&](const Value& ip, const Path& at) {
    std::size_t before = out.size();
    bool known = old && std::ranges::find((*old)["spec"]["externalIPs"].items(), ip) !=
                            (*old)["spec"]["externalIPs"].items().end();
    if (!known) validate_ip(at, ip.as_string(), true, out);
    if (out.size() == before) validate_endpoint_ip(ip.as_string(), at, out);
  });
}

void validate_port_uniqueness(const Value& service, FieldErrors& out) {
  const Value& spec = service["spec"];
  if (type_of(service) == "ClusterIP")
    each(spec, "ports", "spec", [&](const Value& port, const Path& at) {
      if (port["nodePort"].as_int() != 0)
        out.push_back(
            json::forbidden(at / "nodePort", "may not be used when `type` is 'ClusterIP'"));
    });
  std::set<std::pair<string_view, std::int64_t>> node_ports, ports;
  each(spec, "ports", "spec", [&](const Value& port, const Path& at) {
    std::int64_t node_port = port["nodePort"].as_int();
    if (node_port != 0 && !node_ports.insert({text(port, "protocol"), node_port}).second)
      out.push_back(json::duplicate(at / "nodePort", node_port));
  });
  each(spec, "ports", "spec", [&](const Value& port, const Path& at) {
    if (ports.insert({text(port, "protocol"), port["port"].as_int()}).second) return;
    std::string shown = cat("{\"Name\":\"\",\"Protocol\":\"", text(port, "protocol"),
                            "\",\"AppProtocol\":null,\"Port\":", port["port"].as_int(),
                            ",\"TargetPort\":0,\"NodePort\":0}");
    out.push_back(json::shown_as(json::duplicate(at, {}), shown));
  });
}

void validate_source_ranges(const Value& service, const Value* old, FieldErrors& out) {
  const Value& ranges = service["spec"]["loadBalancerSourceRanges"];
  constexpr const char* kOnly = "may only be used when `type` is 'LoadBalancer'";
  if (!ranges.empty()) {
    Path path = "spec.LoadBalancerSourceRanges";
    if (!is_load_balancer(service)) out.push_back(json::forbidden(path, kOnly));
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      bool known = old &&
                   std::ranges::any_of((*old)["spec"]["loadBalancerSourceRanges"].items(),
                                       [&](const Value& r) {
                                         return trim(r.as_string()) == trim(ranges[i].as_string());
                                       });
      if (!known) validate_cidr(path.index(i), trim(ranges[i].as_string()), true, out);
    }
    return;
  }
  const Value* annotation = service["metadata"]["annotations"].find(kSourceRanges);
  if (!annotation) return;
  Path path = Path("metadata.annotations").key(kSourceRanges);
  if (!is_load_balancer(service)) out.push_back(json::forbidden(path, kOnly));
  if (old && (*old)["metadata"]["annotations"][kSourceRanges] == *annotation) return;
  string_view list = trim(annotation->as_string());
  if (!list.empty())
    for (string_view range : split(list, ',')) validate_cidr(path, trim(range), true, out);
}

void validate_balancer_class(const Value& service, const Value* old, FieldErrors& out) {
  const Value& name = service["spec"]["loadBalancerClass"];
  if (old && is_load_balancer(*old) && is_load_balancer(service) &&
      name != (*old)["spec"]["loadBalancerClass"])
    out.push_back(json::invalid("spec.loadBalancerClass", name, "may not change once set"));
  if (name.is_null()) return;
  if (is_load_balancer(service))
    complain("spec.loadBalancerClass", name.as_string(), qualified_name(name.as_string()), out);
  else
    out.push_back(json::forbidden("spec.loadBalancerClass",
                                  "may only be used when `type` is 'LoadBalancer'"));
}

void validate_traffic(const Value& service, FieldErrors& out) {
  const Value& spec = service["spec"];
  string_view external = text(spec, "externalTrafficPolicy");
  if (is_externally_accessible(service))
    require_one_of_or_missing(external, {"Cluster", "Local"}, "spec.externalTrafficPolicy", out);
  else if (!external.empty())
    out.push_back(json::invalid("spec.externalTrafficPolicy", external,
                                "may only be set for externally-accessible services"));
  const Value& health = spec["healthCheckNodePort"];
  if (needs_health_check(service)) {
    if (health.as_int() == 0)
      out.push_back(json::required("spec.healthCheckNodePort"));
    else
      check_number(health, port_number, "spec.healthCheckNodePort", out);
  } else if (health.as_int() != 0) {
    out.push_back(json::invalid(
        "spec.healthCheckNodePort", health,
        "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"));
  }
  if (present(spec, "internalTrafficPolicy"))
    check_one_of("spec.internalTrafficPolicy", text(spec, "internalTrafficPolicy"),
                 {"Cluster", "Local"}, out);
  if (present(spec, "trafficDistribution"))
    check_one_of("spec.trafficDistribution", text(spec, "trafficDistribution"),
                 {"PreferClose", "PreferSameZone", "PreferSameNode"}, out);
}

void validate_service(const Value& service, const Value* old, FieldErrors& out) {
  const Value &spec = service["spec"], &annotations = service["metadata"]["annotations"];
  if (annotations.has(kTopologyMode) && annotations.has(kTopologyHints) &&
      annotations[kTopologyMode] != annotations[kTopologyHints])
    out.push_back(
        json::invalid(Path("metadata.annotations").key(kTopologyMode), annotations[kTopologyMode],
                      cat("must match annotations[", kTopologyHints, "] when both are specified")));
  if (spec["ports"].empty() && !is_headless(service) && type_of(service) != "ExternalName")
    out.push_back(json::required("spec.ports"));
  validate_type_rules(service, out);
  validate_ports(spec, out);
  validate_labels(spec["selector"], "spec.selector", out);
  validate_session_affinity(spec, out);
  validate_cluster_ip_fields(service, old, out);
  validate_external_ips(service, old, out);
  require_one_of_or_missing(type_of(service),
                            {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"}, "spec.type",
                            out);
  validate_port_uniqueness(service, out);
  validate_source_ranges(service, old, out);
  if (present(spec, "allocateLoadBalancerNodePorts") && !is_load_balancer(service))
    out.push_back(json::forbidden("spec.allocateLoadBalancerNodePorts",
                                  "may only be used when `type` is 'LoadBalancer'"));
  validate_balancer_class(service, nullptr, out);
  validate_traffic(service, out);
}

void validate_address_changes(const Value& service, const Value& old, FieldErrors& out) {
  if (type_of(service) == "ExternalName" || type_of(old) == "ExternalName") return;
  const Value &ips = service["spec"]["clusterIPs"], &before = old["spec"]["clusterIPs"];
  const Value &families = service["spec"]["ipFamilies"], &old_families = old["spec"]["ipFamilies"];
  constexpr const char* kSet = "may not change once set";
  if (!(is_headless(service) && is_headless(old))) {
    if (ips.size() == before.size()) {
      for (std::size_t i = 0; i < ips.size(); ++i)
        if (ips[i] != before[i])
          out.push_back(json::invalid(Path("spec.clusterIPs").index(i), ips, kSet));
    } else if (ips.empty()) {
      out.push_back(json::invalid("spec.clusterIPs[0]", ips, "primary clusterIP can not be unset"));
    } else if (!before.empty() && ips[0] != before[0]) {
      out.push_back(json::invalid("spec.clusterIPs[0]", ips, kSet));
    }
    if (ips.size() == 1 && before.size() > 1 &&
        text(service["spec"], "ipFamilyPolicy") != "SingleStack")
      out.push_back(
          json::invalid("spec.ipFamilyPolicy", service["spec"]["ipFamilyPolicy"],
                        "must be set to 'SingleStack' when releasing the secondary clusterIP"));
  }
  if (is_headless(service) || is_headless(old)) return;
  if (families.size() == old_families.size()) {
    for (std::size_t i = 0; i < families.size(); ++i)
      if (families[i] != old_families[i])
        out.push_back(json::invalid("spec.ipFamilies[0]", families, kSet));
  } else if (!families.empty() && !old_families.empty() && families[0] != old_families[0]) {
    out.push_back(json::invalid("spec.ipFamilies[0]", ips, kSet));
  }
}

FieldErrors validate(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, true, name_is_dns_label, out);
  validate_service(object, nullptr, out);
  return out;
}

FieldErrors validate_update(const Value& object, const Value& old, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  validate_address_changes(object, old, out);
  validate_balancer_class(object, &old, out);
  if (needs_health_check(old) && needs_health_check(object) &&
      object["spec"]["healthCheckNodePort"] != old["spec"]["healthCheckNodePort"])
    out.push_back(json::forbidden("spec.healthCheckNodePort", "field is immutable"));
  validate_service(object, &old, out);
  return out;
}

void validate_ingress(const Value& ingress, const Value& old, const Path& path, FieldErrors& out) {
  string_view ip = text(ingress, "ip"), host = text(ingress, "hostname");
  bool known = std::ranges::any_of(old.items(),
                                   [&](const Value& o) { return text(o, "ip") == ip; });
  if (!ip.empty() && !known) validate_ip(path / "ip", ip, true, out);
  if (!present(ingress, "ipMode")) {
    if (!ip.empty())
      out.push_back(json::required(path / "ipMode", "must be specified when `ip` is set"));
  } else if (ip.empty()) {
    out.push_back(json::forbidden(path / "ipMode", "may not be specified when `ip` is not set"));
  } else {
    check_one_of(path / "ipMode", text(ingress, "ipMode"), {"Proxy", "VIP"}, out);
  }
  if (host.empty()) return;
  complain(path / "hostname", host, dns1123_subdomain(host), out);
  if (parse_ip(host))
    out.push_back(json::invalid(path / "hostname", host, "must be a DNS name, not an IP address"));
}

FieldErrors validate_status(const Value& object, const Value& old, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  const Value& balancer = object["status"]["loadBalancer"];
  if (!is_load_balancer(object) && !balancer["ingress"].empty())
    out.push_back(json::forbidden("status.loadBalancer.ingress",
                                  "may only be used when `spec.type` is 'LoadBalancer'"));
  else
    each(balancer, "ingress", "status.loadBalancer", [&](const Value& ingress, const Path& at) {
      validate_ingress(ingress, old["status"]["loadBalancer"]["ingress"], at, out);
    });
  return out;
}

std::vector<std::string> warnings(const Value& object, const Value*,
                                  const StrategyContext& context) {
  std::vector<std::string> out;
  const Value& spec = object["spec"];
  if (context.subresource == "status") {
    Path path = "status.loadBalancer.ingress";
    const Value& ingress = object["status"]["loadBalancer"]["ingress"];
    for (std::size_t i = 0; i < ingress.size(); ++i)
      warn_about_ip(path.index(i), text(ingress[i], "ip"), out);
    return out;
  }
  if (object["metadata"]["annotations"].has(kTopologyHints))
    out.push_back(cat("annotation ", kTopologyHints, " is deprecated, please use ", kTopologyMode,
                      " instead"));
  bool headless = type_of(object) == "ClusterIP" && text(spec, "clusterIP") == "None";
  bool external_name = type_of(object) == "ExternalName";
  if (!text(spec, "clusterIP").empty() && !headless)
    each(spec, "clusterIPs", "spec",
         [&](const Value& ip, const Path& at) { warn_about_ip(at, ip.as_string(), out); });
  if (headless) {
    if (!text(spec, "loadBalancerIP").empty())
      out.push_back("spec.loadBalancerIP is ignored for headless services");
    if (!spec["externalIPs"].empty())
      out.push_back("spec.externalIPs is ignored for headless services");
    if (text(spec, "sessionAffinity") != "None")
      out.push_back("spec.SessionAffinity is ignored for headless services");
  }
  each(spec, "externalIPs", "spec",
       [&](const Value& ip, const Path& at) { warn_about_ip(at, ip.as_string(), out); });
  if (!spec["externalIPs"].empty() && !headless && !external_name)
    out.push_back(
        "spec.externalIPs is deprecated and may no longer be implemented in some clusters");
  if (!text(spec, "loadBalancerIP").empty())
    warn_about_ip("spec.loadBalancerIP", text(spec, "loadBalancerIP"), out);
  each(spec, "loadBalancerSourceRanges", "spec",
       [&](const Value& cidr, const Path& at) { warn_about_cidr(at, cidr.as_string(), out); });
  if (external_name && !spec["externalIPs"].empty())
    out.push_back("spec.externalIPs is ignored when spec.type is \"ExternalName\"");
  if (!external_name && !text(spec, "externalName").empty())
    out.push_back("spec.externalName is ignored when spec.type is not \"ExternalName\"");
  if (text(spec, "trafficDistribution") == "PreferClose")
    out.push_back(
        "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"");
  return out;
}

std::string field(const Value& object, string_view name) {
  if (name == "spec.clusterIP") return std::string(text(object["spec"], "clusterIP"));
  return name == "spec.type" ? std::string(type_of(object)) : "";
}

}  // namespace

const Strategy& service_strategy() {
  static const Strategy strategy{
      .defaults = defaults,
      .prepare_for_create = prepare_create,
      .prepare_for_update = prepare_update,
      .validate_create = validate,
      .validate_update = validate_update,
      .warnings = warnings,
      .prepare_for_status_update = keep_spec,
      .validate_status_update = validate_status,
      .selectable_fields = {"spec.clusterIP", "spec.type"},
      .selectable_field = field,
      .unknown_field = "field label not supported: {}",
      .name_rule = Strategy::NameRule::kDnsLabel,
      .allow_create_on_update = true,
      .returns_deleted_object = true,
  };
  return strategy;
}

}  // namespace cardea::catalog
