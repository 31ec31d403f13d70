#include <set>

#include "catalog/kinds/check.h"
#include "catalog/kinds/ip.h"
#include "catalog/kinds/object_meta.h"
#include "catalog/kinds/strategies.h"

namespace cardea::catalog {
namespace {

constexpr int kMostAddresses = 100;
constexpr int kMostPorts = 20000;
constexpr int kMostEndpoints = 1000;
constexpr int kMostHints = 8;

void defaults(Value& object, const StrategyContext&) {
  if (object["ports"].empty()) return;
  Value& ports = object.member("ports");
  for (std::size_t i = 0; i < ports.size(); ++i) {
    set_default(ports.item(i), "name", "");
    set_default(ports.item(i), "protocol", "TCP");
  }
}

// Node and zone have their own fields; the older map is removed.
void drop_old_topology(Value& object, const StrategyContext&) {
  for (std::size_t i = 0; i < object["endpoints"].size(); ++i)
    if (object["endpoints"][i].has("deprecatedTopology"))
      object.member("endpoints").item(i).erase("deprecatedTopology");
}

void prepare_update(Value& object, const Value&, const StrategyContext& context) {
  drop_old_topology(object, context);
}

// Traffic may not be sent to an address that only this machine can reach.
void validate_reachable(const Path& path, const Value& address, const Ip& ip, FieldErrors& out) {
  if (ip.unspecified())
    out.push_back(
        json::invalid(path, address, cat("may not be unspecified (", address.as_string(), ")")));
  if (ip.loopback())
    out.push_back(
        json::invalid(path, address, "may not be in the loopback range (127.0.0.0/8, ::1/128)"));
  if (ip.link_local_unicast())
    out.push_back(json::invalid(path, address,
                                "may not be in the link-local range (169.254.0.0/16, fe80::/10)"));
  if (ip.link_local_multicast())
    out.push_back(json::invalid(
        path, address, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"));
}

void validate_address(const Path& list, std::size_t index, const Value& address,
                      std::string_view type, FieldErrors& out) {
  Path path = list.index(index);
  std::string_view text = address.as_string();
  if (type == "FQDN") {
    complain(path, address, dns1123_subdomain(text), out);
    return;
  }
  if (type != "IPv4" && type != "IPv6") return;
  validate_ip(path, text, true, out);
  auto ip = parse_ip(text);
  bool v4 = ip && ip->v4;
  if (ip && v4 != (type == "IPv4"))
    out.push_back(json::invalid(list, address, cat("must be an ", type, " address")));
  if (ip) validate_reachable(path, address, *ip, out);
}

void validate_hints(const Path& path, const Value& hints, std::string_view list, FieldErrors& out) {
  const Value& entries = hints[list];
  std::set<std::string_view> seen;
  if (entries.size() > static_cast<std::size_t>(kMostHints)) {
    out.push_back(json::too_many(path / list, static_cast<int>(entries.size()), kMostHints));
    return;
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    Path at = (path / list).index(i) / "name";
    const Value& name = entries[i]["name"];
    if (!seen.insert(name.as_string()).second) out.push_back(json::duplicate(at, name));
    complain(at, name.as_string(),
             list == "forZones" ? label_value(name.as_string())
                                : name_is_dns_subdomain(name.as_string(), false),
             out);
  }
}

void validate_endpoint(const Path& path, const Value& endpoint, std::string_view type,
                       FieldErrors& out) {
  const Value& addresses = endpoint["addresses"];
  if (addresses.empty())
    out.push_back(json::required(path / "addresses", "must contain at least 1 address"));
  else if (addresses.size() > static_cast<std::size_t>(kMostAddresses))
    out.push_back(
        json::too_many(path / "addresses", static_cast<int>(addresses.size()), kMostAddresses));
  for (std::size_t i = 0; i < addresses.size(); ++i)
    validate_address(path / "addresses", i, addresses[i], type, out);
  const Value& node = endpoint["nodeName"];
  if (!node.is_null())
    complain(path / "nodeName", node, name_is_dns_subdomain(node.as_string(), false), out);
  const Value& host = endpoint["hostname"];
  if (!host.is_null()) complain(path / "hostname", host, dns1123_label(host.as_string()), out);
  validate_hints(path / "hints", endpoint["hints"], "forZones", out);
  validate_hints(path / "hints", endpoint["hints"], "forNodes", out);
}

void validate_ports(const Value& ports, FieldErrors& out) {
  if (ports.size() > static_cast<std::size_t>(kMostPorts)) {
    out.push_back(json::too_many("ports", static_cast<int>(ports.size()), kMostPorts));
    return;
  }
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    Path at = Path("ports").index(i);
    const Value& name = ports[i]["name"];
    if (!name.as_string().empty())
      complain(at / "name", name, dns1123_label(name.as_string()), out);
    if (!names.insert(name.as_string()).second) out.push_back(json::duplicate(at / "name", name));
    check_one_of(at / "protocol", ports[i]["protocol"], {"SCTP", "TCP", "UDP"}, out);
    const Value& application = ports[i]["appProtocol"];
    if (!application.is_null())
      complain(at / "appProtocol", application, qualified_name(application.as_string()), out);
  }
}

void validate_fields(const Value& object, const Value& old, FieldErrors& out) {
  const Value& type = object["addressType"];
  if (type.as_string().empty())
    out.push_back(json::required("addressType"));
  else
    check_one_of("addressType", type, {"FQDN", "IPv4", "IPv6"}, out);
  const Value& endpoints = object["endpoints"];
  if (endpoints.size() > static_cast<std::size_t>(kMostEndpoints)) {
    out.push_back(json::too_many("endpoints", static_cast<int>(endpoints.size()), kMostEndpoints));
  } else if (old.is_null() || !semantically_equal(endpoints, old["endpoints"])) {
    for (std::size_t i = 0; i < endpoints.size(); ++i)
      validate_endpoint(Path("endpoints").index(i), endpoints[i], type.as_string(), out);
  }
  validate_ports(object["ports"], out);
}

FieldErrors validate(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, true, name_is_dns_subdomain, out);
  validate_fields(object, Value(), out);
  return out;
}

FieldErrors validate_update(const Value& object, const Value& old, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, true, name_is_dns_subdomain, out);
  validate_fields(object, old, out);
  check_immutable("addressType", object["addressType"], old["addressType"], out);
  return out;
}

std::vector<std::string> warnings(const Value& object, const Value*, const StrategyContext&) {
  if (object["addressType"].as_string() != "FQDN") return {};
  return {"spec.addressType: FQDN endpoints are deprecated"};
}

}  // namespace

const Strategy& endpoint_slice_strategy() {
  static const Strategy strategy{
      .defaults = defaults,
      .prepare_for_create = drop_old_topology,
      .prepare_for_update = prepare_update,
      .validate_create = validate,
      .validate_update = validate_update,
      .warnings = warnings,
      .has_generation = true,
  };
  return strategy;
}

}  // namespace cardea::catalog
