#include "catalog/kinds/check.h"
#include "catalog/kinds/ip.h"
#include "catalog/kinds/label_selector.h"
#include "catalog/kinds/object_meta.h"
#include "catalog/kinds/strategies.h"

namespace cardea::catalog {
namespace {

void default_ports(Value& rules) {
  if (rules.empty()) return;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (rules[i]["ports"].empty()) continue;
    Value& ports = rules.item(i).member("ports");
    for (std::size_t j = 0; j < ports.size(); ++j) set_default(ports.item(j), "protocol", "TCP");
  }
}

void defaults(Value& object, const StrategyContext&) {
  Value& spec = object_member(object, "spec");
  if (spec["ingress"].is_array()) default_ports(spec.member("ingress"));
  if (spec["egress"].is_array()) default_ports(spec.member("egress"));
  if (!spec["policyTypes"].empty()) return;
  spec.set("policyTypes", Value::array({"Ingress"}));
  if (!spec["egress"].empty()) spec.member("policyTypes").push_back("Egress");
}

void validate_port(const Path& path, const Value& entry, FieldErrors& out) {
  if (!entry["protocol"].is_null())
    check_one_of(path / "protocol", entry["protocol"], {"TCP", "UDP", "SCTP"}, out);
  const Value& port = entry["port"];
  const Value& end = entry["endPort"];
  if (port.is_null()) {
    if (!end.is_null())
      out.push_back(json::invalid(path / "endPort", end,
                                  "may not be specified when `port` is not specified"));
    return;
  }
  if (port.is_string()) {
    if (!end.is_null())
      out.push_back(
          json::invalid(path / "endPort", end, "may not be specified when `port` is non-numeric"));
    complain(path / "port", port, port_name(port.as_string()), out);
    return;
  }
  complain(path / "port", port, port_number(port.as_int()), out);
  if (end.is_null()) return;
  if (end.as_int() < port.as_int())
    out.push_back(json::invalid(path / "endPort", port, "must be greater than or equal to `port`"));
  complain(path / "endPort", end, port_number(end.as_int()), out);
}

void validate_block(const Path& path, const Value& block, FieldErrors& out) {
  const Value& cidr = block["cidr"];
  if (cidr.as_string().empty()) {
    out.push_back(json::required(path / "cidr"));
    return;
  }
  validate_cidr(path / "cidr", cidr.as_string(), true, out);
  auto outer = parse_cidr(cidr.as_string());
  if (!outer) return;
  for (std::size_t i = 0; i < block["except"].size(); ++i) {
    const Value& except = block["except"][i];
    Path at = (path / "except").index(i);
    validate_cidr(at, except.as_string(), true, out);
    auto inner = parse_cidr(except.as_string());
    if (!inner) continue;
    if (!outer->contains(inner->address) || outer->prefix >= inner->prefix)
      out.push_back(json::invalid(at, except, "must be a strict subset of `cidr`"));
  }
}

void validate_peer(const Path& path, const Value& peer, FieldErrors& out) {
  std::size_t given = 0;
  for (std::string_view name : {"podSelector", "namespaceSelector"}) {
    if (peer[name].is_null()) continue;
    ++given;
    validate_label_selector(peer[name], path / name, out);
  }
  if (!peer["ipBlock"].is_null()) {
    ++given;
    validate_block(path / "ipBlock", peer["ipBlock"], out);
  }
  if (given == 0)
    out.push_back(json::required(path, "must specify a peer"));
  else if (given > 1 && !peer["ipBlock"].is_null())
    out.push_back(json::forbidden(path, "may not specify both ipBlock and another peer"));
}

void validate_rules(const Path& path, const Value& rules, std::string_view peers,
                    FieldErrors& out) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    for (std::size_t j = 0; j < rules[i]["ports"].size(); ++j)
      validate_port((path.index(i) / "ports").index(j), rules[i]["ports"][j], out);
    for (std::size_t j = 0; j < rules[i][peers].size(); ++j)
      validate_peer((path.index(i) / peers).index(j), rules[i][peers][j], out);
  }
}

void validate_spec(const Value& spec, FieldErrors& out) {
  Path path = "spec";
  validate_label_selector(spec["podSelector"], path / "podSelector", out);
  validate_rules(path / "ingress", spec["ingress"], "from", out);
  validate_rules(path / "egress", spec["egress"], "to", out);
  const Value& types = spec["policyTypes"];
  if (types.size() > 2) {
    out.push_back(
        json::invalid(path / "policyTypes", types, "may not specify more than two policyTypes"));
    return;
  }
  for (std::size_t i = 0; i < types.size(); ++i)
    check_one_of((path / "policyTypes").index(i), types[i], {"Ingress", "Egress"}, out);
}

FieldErrors validate(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, true, name_is_dns_subdomain, out);
  validate_spec(object["spec"], out);
  return out;
}

FieldErrors validate_update(const Value& object, const Value& old, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  validate_spec(object["spec"], out);
  return out;
}

std::vector<std::string> warnings(const Value& object, const Value*, const StrategyContext&) {
  std::vector<std::string> out;
  auto look = [&out](const Path& path, const Value& rules, std::string_view peers) {
    for (std::size_t i = 0; i < rules.size(); ++i)
      for (std::size_t j = 0; j < rules[i][peers].size(); ++j) {
        const Value& block = rules[i][peers][j]["ipBlock"];
        Path at = (path.index(i) / peers).index(j) / "ipBlock";
        if (block.is_null()) continue;
        warn_about_cidr(at / "cidr", block["cidr"].as_string(), out);
        for (std::size_t k = 0; k < block["except"].size(); ++k)
          warn_about_cidr((at / "except").index(k), block["except"][k].as_string(), out);
      }
  };
  look("spec.ingress", object["spec"]["ingress"], "from");
  look("spec.egress", object["spec"]["egress"], "to");
  return out;
}

}  // namespace

const Strategy& network_policy_strategy() {
  static const Strategy strategy{
      .defaults = defaults,
      .validate_create = validate,
      .validate_update = validate_update,
      .warnings = warnings,
      .has_generation = true,
  };
  return strategy;
}

}  // namespace cardea::catalog
