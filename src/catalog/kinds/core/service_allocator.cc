#include "catalog/kinds/core/service_allocator.h"

#include <map>

#include "base/result.h"
#include "catalog/kinds/check.h"
#include "catalog/kinds/core/cluster_ip_fields.h"

namespace cardea::catalog {
namespace {

using std::string_view;

std::string canonical(string_view ip) {
  auto parsed = parse_ip(ip);
  return parsed ? parsed->text() : std::string(ip);
}

bool needs_address(const Value& service) {
  return text(service["spec"], "type") != "ExternalName";
}
bool needs_node_ports(const Value& service) {
  string_view type = text(service["spec"], "type");
  return type == "NodePort" || type == "LoadBalancer";
}
bool allocates_node_ports(const Value& service) {
  return text(service["spec"], "type") == "NodePort" ||
         service["spec"]["allocateLoadBalancerNodePorts"].as_bool();
}

std::string_view family_of(string_view ip) {
  return parse_ip(ip) && !parse_ip(ip)->v4 ? "IPv6" : "IPv4";
}

std::vector<std::string> cluster_ips(const Value& service) {
  return strings(service["spec"]["clusterIPs"]);
}

// A client may set the single field, the list, or both; the missing one follows from the other.
void normalise_cluster_ips(Value& spec, const Value* old) {
  std::string ip(text(spec, "clusterIP"));
  if (!old) {
    if (!ip.empty() && spec["clusterIPs"].empty())
      spec.set("clusterIPs", Value::array({Value(ip)}));
    return;
  }
  string_view old_ip = text(*old, "clusterIP");
  const Value& old_ips = (*old)["clusterIPs"];
  if (!old_ips.empty() && spec["clusterIPs"].empty() && ip == old_ip)
    spec.set("clusterIPs", old_ips);
  if (ip == old_ip || !semantically_equal(spec["clusterIPs"], old_ips)) return;
  if (ip.empty())
    spec.erase("clusterIPs");
  else
    spec.set("clusterIPs", Value::array({Value(ip)}));
}

// A field that an older client leaves out of an update keeps the value of the stored service.
void keep_allocated(Value& service, const Value& old) {
  Value& spec = service.member("spec");
  const Value& before = old["spec"];
  if (needs_address(old) && needs_address(service)) {
    if (text(spec, "clusterIP").empty() && !text(before, "clusterIP").empty())
      spec.set("clusterIP", before["clusterIP"]);
    if (spec["clusterIPs"].empty() && !before["clusterIPs"].empty())
      spec.set("clusterIPs", before["clusterIPs"]);
  }
  if (needs_node_ports(old) && needs_node_ports(service)) {
    std::set<std::int64_t> kept;
    std::map<string_view, std::int64_t> by_name;
    for (const Value& port : before["ports"].items()) {
      by_name[text(port, "name")] = port["nodePort"].as_int();
      for (const Value& now : spec["ports"].items())
        if (now["nodePort"].as_int() != 0 && now["nodePort"] == port["nodePort"])
          kept.insert(now["nodePort"].as_int());
    }
    edit_items(spec, "ports", [&](Value& port) {
      auto known = by_name.find(text(port, "name"));
      if (port["nodePort"].as_int() == 0 && known != by_name.end() && known->second != 0 &&
          !kept.contains(known->second))
        port.set("nodePort", known->second);
    });
  }
  if (needs_health_check(old) && needs_health_check(service) &&
      spec["healthCheckNodePort"].as_int() == 0 && present(before, "healthCheckNodePort"))
    spec.set("healthCheckNodePort", before["healthCheckNodePort"]);
}

}  // namespace

bool needs_health_check(const Value& service) {
  return text(service["spec"], "type") == "LoadBalancer" &&
         text(service["spec"], "externalTrafficPolicy") == "Local";
}
bool is_externally_accessible(const Value& service) {
  return needs_node_ports(service) ||
         (text(service["spec"], "type") == "ClusterIP" && !service["spec"]["externalIPs"].empty());
}
bool is_headless(const Value& service) {
  const Value& ips = service["spec"]["clusterIPs"];
  return ips.size() == 1 && ips[0].as_string() == "None";
}

void ServicesInUse::add(const Value& service) {
  if (!needs_address(service)) return;
  for (const std::string& ip : cluster_ips(service))
    if (ip != "None") addresses_.insert(canonical(ip));
  for (const Value& port : service["spec"]["ports"].items())
    if (std::int64_t number = port["nodePort"].as_int(); number != 0) ports_.insert(number);
  if (std::int64_t number = service["spec"]["healthCheckNodePort"].as_int(); number != 0)
    ports_.insert(number);
}

void ServicesInUse::remove(const Value& service) {
  for (const std::string& ip : cluster_ips(service)) addresses_.erase(canonical(ip));
  for (const Value& port : service["spec"]["ports"].items())
    ports_.erase(port["nodePort"].as_int());
  ports_.erase(service["spec"]["healthCheckNodePort"].as_int());
}

// The allocation for one service: an address or port that it has taken is not free for the rest of
// the allocation.
class ServiceAllocator::Attempt {
 public:
  Attempt(const ServiceAllocator& owner, Value& service, const ServicesInUse& in_use,
          const Choice& choice)
      : owner_(owner),
        service_(service),
        spec_(service.member("spec")),
        in_use_(in_use),
        random_(choice.random),
        dry_run_(choice.dry_run) {}

  std::optional<Error> fill_families(const Value* old);
  std::optional<Error> take_addresses();
  std::optional<Error> take_node_ports(const Value* old);
  std::optional<Error> take_health_check_port(const Value* old);

 private:
  std::optional<Error> invalid(FieldErrors errors) const {
    if (errors.empty()) return std::nullopt;
    return json::invalid_object("", "Service", text(service_["metadata"], "name"), errors);
  }
  bool is_free(std::int64_t port) const {
    return !in_use_.has_port(port) && !taken_.contains(port);
  }
  std::optional<std::string> why_not_port(std::int64_t port);
  std::optional<std::int64_t> next_port();
  std::optional<std::string> next_address() const;
  std::optional<Error> take_port(Value& port, std::size_t index, const std::set<std::int64_t>& own,
                                 std::map<std::int64_t, std::int64_t>& by_port);

  const ServiceAllocator& owner_;
  Value& service_;
  Value& spec_;
  const ServicesInUse& in_use_;
  std::uint64_t random_;
  bool dry_run_;
  std::set<std::int64_t> taken_;
};

std::optional<Error> ServiceAllocator::Attempt::fill_families(const Value* old) {
  if (!needs_address(service_)) return std::nullopt;
  const char* primary = owner_.cidr_.address.v4 ? "IPv4" : "IPv6";
  const char* other = owner_.cidr_.address.v4 ? "IPv6" : "IPv4";
  bool selectorless_headless = text(spec_, "clusterIP") == "None" && spec_["selector"].empty();
  if (!present(spec_, "ipFamilyPolicy")) {
    if (old && present((*old)["spec"], "ipFamilyPolicy"))
      spec_.set("ipFamilyPolicy", (*old)["spec"]["ipFamilyPolicy"]);
    else
      spec_.set("ipFamilyPolicy", selectorless_headless ? "RequireDualStack" : "SingleStack");
  }
  FieldErrors errors;
  validate_cluster_ip_fields(service_, old, errors);
  if (!errors.empty()) return invalid(std::move(errors));

  std::string policy(text(spec_, "ipFamilyPolicy"));
  if (policy == "SingleStack") {
    constexpr const char* kNeeds = "must be 'RequireDualStack' or 'PreferDualStack' when multiple ";
    if (spec_["clusterIPs"].size() == 2)
      errors.push_back(
          json::invalid("spec.ipFamilyPolicy", policy, cat(kNeeds, "cluster IPs are specified")));
    if (spec_["ipFamilies"].size() == 2)
      errors.push_back(
          json::invalid("spec.ipFamilyPolicy", policy, cat(kNeeds, "IP families are specified")));
  }
  std::vector<std::string> ips = cluster_ips(service_);
  for (std::size_t i = 0; i < ips.size() && ips[i] != "None"; ++i) {
    if (i < spec_["ipFamilies"].size()) continue;
    if (family_of(ips[i]) != primary)
      errors.push_back(json::invalid(Path("spec.clusterIPs").index(i), spec_["clusterIPs"],
                                     cat(family_of(ips[i]), " is not configured on this cluster")));
    else
      spec_.member("ipFamilies").push_back(primary);
  }
  if (!errors.empty()) return invalid(std::move(errors));

  if (selectorless_headless) {
    if (spec_["ipFamilies"].empty()) spec_.member("ipFamilies").push_back(primary);
    if (spec_["ipFamilies"].size() < 2 && policy != "SingleStack")
      spec_.member("ipFamilies")
          .push_back(spec_["ipFamilies"][0].as_string() == primary ? other : primary);
    return std::nullopt;
  }
  if (policy == "RequireDualStack")
    errors.push_back(json::invalid("spec.ipFamilyPolicy", policy,
                                   "this cluster is not configured for dual-stack services"));
  each(spec_, "ipFamilies", "spec", [&](const Value& family, const Path& at) {
    if (family.as_string() != primary)
      errors.push_back(json::invalid(at, family, "not configured on this cluster"));
  });
  if (!errors.empty()) return invalid(std::move(errors));
  if (spec_["ipFamilies"].empty()) spec_.member("ipFamilies").push_back(primary);
  return std::nullopt;
}

std::optional<std::string> ServiceAllocator::Attempt::next_address() const {
  // The first address of the range is the address of the network. In IPv4 the last address would be
  // the broadcast address.
  int host_bits = (owner_.cidr_.address.v4 ? 32 : 128) - owner_.cidr_.prefix;
  std::uint64_t size = host_bits >= 16 ? 65536 : std::uint64_t{1} << host_bits;
  std::uint64_t last = owner_.cidr_.address.v4 && host_bits < 16 ? size - 2 : size - 1;
  if (last < 1) return std::nullopt;
  std::uint64_t count = last;
  for (std::uint64_t step = 0; step < count; ++step) {
    std::uint64_t offset = 1 + (random_ + step) % count;
    Ip ip = owner_.cidr_.network();
    for (int byte = 15; offset != 0 && byte >= 0; --byte, offset >>= 8)
      ip.bytes[static_cast<std::size_t>(byte)] |= static_cast<std::uint8_t>(offset & 0xff);
    std::string text = ip.text();
    if (!in_use_.has_address(text)) return text;
  }
  return std::nullopt;
}

std::optional<Error> ServiceAllocator::Attempt::take_addresses() {
  if (!needs_address(service_) || is_headless(service_)) return std::nullopt;
  std::vector<std::string> ips = cluster_ips(service_);
  if (ips.empty()) {
    auto ip = next_address();
    if (!ip)
      return internal_error(cat("failed to allocate a serviceIP for Service ",
                                quoted(text(service_["metadata"], "name")), ": range is full"));
    spec_.set("clusterIPs", Value::array({Value(*ip)}));
    spec_.set("clusterIP", *ip);
    return std::nullopt;
  }
  auto refuse = [&](std::string why) {
    return invalid({json::invalid("spec.clusterIPs", spec_["clusterIPs"],
                                  cat("failed to allocate IP ", ips[0], ": ", why))});
  };
  Ip ip = *parse_ip(ips[0]);
  bool edge = ip == owner_.cidr_.network() ||
              (owner_.cidr_.address.v4 && ip == owner_.cidr_.last());
  if (!owner_.cidr_.contains(ip) || edge)
    return refuse(cat("the provided IP (", ip.text(),
                      ") is not in the valid range. The range of valid IPs is ",
                      owner_.cidr_text_));
  if (!dry_run_ && in_use_.has_address(ip.text()))
    return refuse("provided IP is already allocated");
  return std::nullopt;
}

std::optional<std::string> ServiceAllocator::Attempt::why_not_port(std::int64_t port) {
  if (!dry_run_ && (port < owner_.first_port_ || port > owner_.last_port_))
    return cat("provided port is not in the valid range. The range of valid ports is ",
               owner_.first_port_, "-", owner_.last_port_);
  if (taken_.contains(port) || (!dry_run_ && in_use_.has_port(port)))
    return "provided port is already allocated";
  taken_.insert(port);
  return std::nullopt;
}

std::optional<std::int64_t> ServiceAllocator::Attempt::next_port() {
  auto count = static_cast<std::uint64_t>(owner_.last_port_ - owner_.first_port_ + 1);
  for (std::uint64_t step = 0; step < count; ++step) {
    std::int64_t port = owner_.first_port_ + static_cast<std::int64_t>((random_ + step) % count);
    if (!is_free(port)) continue;
    taken_.insert(port);
    return port;
  }
  return std::nullopt;
}

// One node port. Ports with the same number and different protocols share a node port if possible.
std::optional<Error> ServiceAllocator::Attempt::take_port(
    Value& port, std::size_t index, const std::set<std::int64_t>& own,
    std::map<std::int64_t, std::int64_t>& by_port) {
  std::int64_t wanted = port["nodePort"].as_int(), number = port["port"].as_int();
  auto shared = by_port.find(number);
  if (wanted == 0 && shared != by_port.end()) {
    port.set("nodePort", shared->second);
    return std::nullopt;
  }
  if (wanted == 0)
    for (const Value& other : service_["spec"]["ports"].items())
      if (other["port"].as_int() == number && other["nodePort"].as_int() != 0)
        wanted = other["nodePort"].as_int();
  if (wanted == 0) {
    auto chosen = next_port();
    if (!chosen) return internal_error("failed to allocate a nodePort: range is full");
    wanted = *chosen;
  } else if (!own.contains(wanted) && !(shared != by_port.end() && shared->second == wanted)) {
    if (auto why = why_not_port(wanted))
      return invalid({json::invalid(Path("spec.ports").index(index) / "nodePort", wanted, *why)});
  }
  by_port.emplace(number, wanted);
  port.set("nodePort", wanted);
  return std::nullopt;
}

std::optional<Error> ServiceAllocator::Attempt::take_node_ports(const Value* old) {
  if (!needs_node_ports(service_)) return std::nullopt;
  std::set<std::int64_t> own;
  if (old)
    for (const Value& port : (*old)["spec"]["ports"].items())
      if (port["nodePort"].as_int() != 0) own.insert(port["nodePort"].as_int());
  std::map<std::int64_t, std::int64_t> by_port;
  Value ports = spec_["ports"];
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (ports[i]["nodePort"].as_int() == 0 && !allocates_node_ports(service_)) continue;
    if (auto error = take_port(ports.item(i), i, own, by_port)) return error;
  }
  if (!ports.is_null()) spec_.set("ports", std::move(ports));
  return std::nullopt;
}

std::optional<Error> ServiceAllocator::Attempt::take_health_check_port(const Value* old) {
  if (!needs_health_check(service_) || (old && needs_health_check(*old))) return std::nullopt;
  std::int64_t wanted = spec_["healthCheckNodePort"].as_int();
  if (wanted != 0) {
    // Kubernetes answers 500 here, although the error is in the request.
    if (auto why = why_not_port(wanted))
      return invalid({json::invalid(
          "spec.healthCheckNodePort", wanted,
          cat("failed to allocate requested HealthCheck NodePort ", wanted, ": ", *why))});
    return std::nullopt;
  }
  auto chosen = next_port();
  if (!chosen) return internal_error("failed to allocate a HealthCheck NodePort 0: range is full");
  spec_.set("healthCheckNodePort", *chosen);
  return std::nullopt;
}

ServiceAllocator::ServiceAllocator(string_view cidr, int first_port, int last_port)
    : cidr_text_(cidr),
      cidr_(parse_cidr(cidr).value_or(Cidr{})),
      first_port_(first_port),
      last_port_(last_port) {
  CARDEA_CHECK(parse_cidr(cidr).has_value());
  CARDEA_CHECK(first_port > 0 && first_port <= last_port && last_port <= 65535);
}

std::optional<Error> ServiceAllocator::create(Value& service, const ServicesInUse& in_use,
                                              const Choice& choice) const {
  Value copy = service;
  normalise_cluster_ips(object_member(copy, "spec"), nullptr);
  Attempt attempt(*this, copy, in_use, choice);
  auto error = attempt.fill_families(nullptr);
  if (!error) error = attempt.take_addresses();
  if (!error) error = attempt.take_node_ports(nullptr);
  if (!error) error = attempt.take_health_check_port(nullptr);
  if (!error) service = std::move(copy);
  return error;
}

std::optional<Error> ServiceAllocator::update(Value& service, const Value& old,
                                              const ServicesInUse& in_use,
                                              const Choice& choice) const {
  Value copy = service;
  object_member(copy, "spec");
  keep_allocated(copy, old);
  const Value& before = old["spec"];
  normalise_cluster_ips(copy.member("spec"), &before);
  Attempt attempt(*this, copy, in_use, choice);
  auto error = attempt.fill_families(&old);
  // Only a service without an address gets one. Validation refuses a changed address.
  if (!error && !needs_address(old)) error = attempt.take_addresses();
  if (!error) error = attempt.take_node_ports(&old);
  if (!error) error = attempt.take_health_check_port(&old);
  if (!error) service = std::move(copy);
  return error;
}

}  // namespace cardea::catalog
