#include "catalog/kinds/check.h"
#include "catalog/kinds/ip.h"
#include "catalog/kinds/object_meta.h"
#include "catalog/kinds/strategies.h"

namespace cardea::catalog {
namespace {

// IPAddress: the name is the address.

Complaints name_is_address(std::string_view name, bool) {
  FieldErrors found;
  validate_canonical_ip("", name, found);
  Complaints out;
  for (const auto& error : found) out.push_back(error.detail);
  return out;
}

void validate_parent(const Path& path, const Value& parent, FieldErrors& out) {
  if (parent.is_null()) {
    out.push_back(json::required(path));
    return;
  }
  const Value& group = parent["group"];
  if (!group.as_string().empty())
    complain(path / "group", group, dns1123_subdomain(group.as_string()), out);
  for (std::string_view name : {"resource", "name"}) {
    if (parent[name].as_string().empty())
      out.push_back(json::required(path / name));
    else
      complain(path / name, parent[name], name_is_path_segment(parent[name].as_string(), false),
               out);
  }
  const Value& space = parent["namespace"];
  if (!space.as_string().empty())
    complain(path / "namespace", space, name_is_path_segment(space.as_string(), false), out);
}

FieldErrors validate_address(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, false, name_is_address, out);
  validate_parent("spec.parentRef", object["spec"]["parentRef"], out);
  return out;
}

FieldErrors validate_address_update(const Value& object, const Value& old, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  const Value& parent = object["spec"]["parentRef"];
  if (parent.is_null()) out.push_back(json::required("spec.parentRef"));
  if (!semantically_equal(parent, old["spec"]["parentRef"]))
    out.push_back(invalid_shown(
        "spec.parentRef",
        parent.is_null() ? "null"
                         : shown_struct({{"Group", shown_or(parent["group"], "")},
                                         {"Resource", shown_or(parent["resource"], "")},
                                         {"Namespace", shown_or(parent["namespace"], "")},
                                         {"Name", shown_or(parent["name"], "")}}),
        kFieldIsImmutable));
  return out;
}

// ServiceCIDR

void validate_cidrs(const Path& path, const Value& cidrs, FieldErrors& out) {
  if (cidrs.empty()) {
    out.push_back(json::required(path, "at least one CIDR required"));
    return;
  }
  if (cidrs.size() > 2) {
    out.push_back(invalid_shown(path, shown_struct({{"CIDRs", shown(cidrs)}}),
                                "may only hold up to 2 values"));
    return;
  }
  if (cidrs.size() == 2) {
    auto a = parse_cidr(cidrs[0].as_string()), b = parse_cidr(cidrs[1].as_string());
    if (a && b && a->address.v4 == b->address.v4)
      out.push_back(json::invalid(path, cidrs,
                                  "may specify no more than one IP for each IP family, i.e "
                                  "192.168.0.0/24 and 2001:db8::/64"));
  }
  for (std::size_t i = 0; i < cidrs.size(); ++i) {
    auto cidr = parse_cidr(cidrs[i].as_string());
    std::size_t before = out.size();
    validate_cidr(path.index(i), cidrs[i].as_string(), true, out);
    if (!cidr || out.size() != before) continue;
    std::string canonical = cat(cidr->network().text(), "/", cidr->prefix);
    if (canonical != cidrs[i].as_string())
      out.push_back(json::invalid(path.index(i), cidrs[i],
                                  cat("must be in canonical form (\"", canonical, "\")")));
  }
}

FieldErrors validate_cidr_kind(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, false, name_is_dns_subdomain, out);
  validate_cidrs("spec.cidrs", object["spec"]["cidrs"], out);
  return out;
}

FieldErrors validate_cidr_kind_update(const Value& object, const Value& old,
                                      const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  // A second address family may be added; the existing one stays.
  const Value& cidrs = object["spec"]["cidrs"];
  const Value& before = old["spec"]["cidrs"];
  if (cidrs.size() < before.size()) {
    out.push_back(json::invalid("spec.cidrs", cidrs, std::string(kFieldIsImmutable)));
    return out;
  }
  for (std::size_t i = 0; i < before.size(); ++i)
    check_immutable(Path("spec.cidrs").index(i), cidrs[i], before[i], out);
  if (cidrs.size() > before.size()) validate_cidrs("spec.cidrs", cidrs, out);
  return out;
}

FieldErrors validate_cidr_status(const Value& object, const Value& old, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  return out;
}

}  // namespace

const Strategy& ip_address_strategy() {
  static const Strategy strategy{
      .validate_create = validate_address,
      .validate_update = validate_address_update,
      .name_rule = Strategy::NameRule::kPathSegment,
  };
  return strategy;
}

const Strategy& service_cidr_strategy() {
  static const Strategy strategy{
      .prepare_for_create = drop_status,
      .prepare_for_update = keep_status,
      .validate_create = validate_cidr_kind,
      .validate_update = validate_cidr_kind_update,
      .prepare_for_status_update = keep_spec,
      .validate_status_update = validate_cidr_status,
  };
  return strategy;
}

}  // namespace cardea::catalog
