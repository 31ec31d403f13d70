#include "catalog/kinds/check.h"
#include "catalog/kinds/core/core_strategies.h"
#include "catalog/kinds/core/endpoint_address.h"
#include "catalog/kinds/ip.h"

namespace cardea::catalog {
namespace {

void defaults(Value& object, const StrategyContext&) {
  edit_items(object, "subsets", [](Value& subset) {
    edit_items(subset, "ports", [](Value& port) { default_to(port, "protocol", "TCP"); });
  });
}

void validate_address(const Value& address, const Path& path, FieldErrors& out) {
  validate_ip(path / "ip", text(address, "ip"), true, out);
  if (std::string_view name = text(address, "hostname"); !name.empty())
    complain(path / "hostname", name, dns1123_label(name), out);
  if (present(address, "nodeName"))
    complain(path / "nodeName", text(address, "nodeName"),
             dns1123_subdomain(text(address, "nodeName")), out);
  validate_endpoint_ip(text(address, "ip"), path / "ip", out);
}

void validate_port(const Value& port, bool named, const Path& path, FieldErrors& out) {
  std::string_view name = text(port, "name");
  if (named && name.empty()) out.push_back(json::required(path / "name"));
  if (!name.empty()) complain(path / "name", name, dns1123_label(name), out);
  for (const std::string& message : port_number(port["port"].as_int()))
    out.push_back(json::invalid(path / "port", port["port"].as_int(), message));
  require_one_of_or_missing(text(port, "protocol"), {"SCTP", "TCP", "UDP"}, path / "protocol", out);
  if (present(port, "appProtocol"))
    complain(path / "appProtocol", text(port, "appProtocol"),
             qualified_name(text(port, "appProtocol")), out);
}

void validate_subsets(const Value& object, FieldErrors& out) {
  each(object, "subsets", {}, [&](const Value& subset, const Path& path) {
    if (subset["addresses"].empty() && subset["notReadyAddresses"].empty())
      out.push_back(json::required(path, "must specify `addresses` or `notReadyAddresses`"));
    for (const char* key : {"addresses", "notReadyAddresses"})
      each(subset, key, path,
           [&](const Value& address, const Path& at) { validate_address(address, at, out); });
    bool named = subset["ports"].size() > 1;
    each(subset, "ports", path,
         [&](const Value& port, const Path& at) { validate_port(port, named, at, out); });
  });
}

FieldErrors validate(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, true, name_is_dns_subdomain, out);
  validate_subsets(object, out);
  return out;
}

FieldErrors validate_update(const Value& object, const Value& old, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  validate_kind_meta(object, true, name_is_dns_subdomain, out);
  if (!semantically_equal(object["subsets"], old["subsets"])) validate_subsets(object, out);
  return out;
}

std::vector<std::string> warnings(const Value& object, const Value*, const StrategyContext&) {
  std::vector<std::string> out;
  if (text(object["metadata"]["labels"], "endpoints.kubernetes.io/managed-by") ==
      "endpoint-controller")
    return out;
  each(object, "subsets", {}, [&](const Value& subset, const Path& path) {
    for (const char* key : {"addresses", "notReadyAddresses"})
      each(subset, key, path, [&](const Value& address, const Path& at) {
        warn_about_ip(at / "ip", text(address, "ip"), out);
      });
  });
  return out;
}

}  // namespace

void validate_endpoint_ip(std::string_view written, const Path& path, json::FieldErrors& out) {
  auto ip = parse_ip(written);
  if (!ip) return out.push_back(json::invalid(path, written, "must be a valid IP address"));
  if (ip->unspecified())
    out.push_back(json::invalid(path, written, cat("may not be unspecified (", written, ")")));
  if (ip->loopback())
    out.push_back(
        json::invalid(path, written, "may not be in the loopback range (127.0.0.0/8, ::1/128)"));
  if (ip->link_local_unicast())
    out.push_back(json::invalid(path, written,
                                "may not be in the link-local range (169.254.0.0/16, fe80::/10)"));
  if (ip->link_local_multicast())
    out.push_back(json::invalid(
        path, written, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"));
}

const Strategy& endpoints_strategy() {
  static const Strategy strategy{
      .defaults = defaults,
      .validate_create = validate,
      .validate_update = validate_update,
      .warnings = warnings,
      .allow_create_on_update = true,
  };
  return strategy;
}

}  // namespace cardea::catalog
