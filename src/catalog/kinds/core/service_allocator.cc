#include "catalog/kinds/core/service_allocator.h"

#include <map>

#include "base/result.h"
#include "catalog/kinds/check.h"
#include "catalog/kinds/core/cluster_ip_fields.h"

namespace cardea::catalog {
namespace {

using std::string_view;

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
  const auto parsed = parse_ip(ip);
  return parsed ? parsed->family() : "IPv4";
}
std::string_view other_family(string_view family) {
  return family == "IPv4" ? "IPv6" : "IPv4";
}
bool is_single_stack(const Value& spec) {
  return text(spec, "ipFamilyPolicy") == "SingleStack";
}
// No selector means that somebody else makes the endpoints, and they may be of any family.
bool is_headless_without_selector(const Value& spec) {
  return text(spec, "clusterIP") == "None" && spec["selector"].empty();
}

std::vector<std::string> cluster_ips(const Value& service) {
  return strings(service["spec"]["clusterIPs"]);
}

// A service that prefers two families keeps the ones it has, whatever the cluster has become. Only
// a change of these fields makes the server look again.
bool keeps_preferred_families(const Value& service, const Value& old) {
  const Value &now = service["spec"], &before = old["spec"];
  if (text(now, "type") != text(before, "type") || text(now, "type") == "ExternalName")
    return false;
  return text(now, "ipFamilyPolicy") == "PreferDualStack" &&
         text(before, "ipFamilyPolicy") == "PreferDualStack" &&
         text(now, "clusterIP") == text(before, "clusterIP") &&
         semantically_equal(now["clusterIPs"], before["clusterIPs"]) &&
         semantically_equal(now["ipFamilies"], before["ipFamilies"]);
}

// Back to one family: the policy alone says it, if the lists are as they were. Otherwise a shorter
// list must come with the policy.
FieldErrors leave_second_family(Value& spec, const Value& before) {
  FieldErrors errors;
  const std::string policy(text(spec, "ipFamilyPolicy"));
  for (const auto& [list, what] :
       {std::pair("clusterIPs", "cluster IP"), std::pair("ipFamilies", "IP family")}) {
    const std::size_t count = spec[list].size();
    if (is_single_stack(spec)) {
      if (count > 1 && semantically_equal(spec[list], before[list]))
        spec.set(list, Value::array({spec[list][0]}));
    } else if (count > 0 && count < before[list].size()) {
      errors.push_back(json::invalid("spec.ipFamilyPolicy", policy,
                                     cat("must be 'SingleStack' to release the secondary ", what)));
    }
  }
  return errors;
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

std::set<Ip> service_addresses(const Value& service) {
  std::set<Ip> out;
  for (const std::string& text : cluster_ips(service))
    if (const auto ip = parse_ip(text)) out.insert(*ip);
  return out;
}

ServicesInUse ServicesInUse::of(const Value& service) {
  ServicesInUse out;
  if (!needs_address(service)) return out;
  out.addresses_ = service_addresses(service);
  for (const Value& port : service["spec"]["ports"].items())
    if (std::int64_t number = port["nodePort"].as_int(); number != 0) out.ports_.insert(number);
  if (std::int64_t number = service["spec"]["healthCheckNodePort"].as_int(); number != 0)
    out.ports_.insert(number);
  return out;
}

ServicesInUse ServicesInUse::add(const Value& service) {
  ServicesInUse added = of(service);
  std::erase_if(added.addresses_, [&](const Ip& ip) { return addresses_.contains(ip); });
  std::erase_if(added.ports_, [&](std::int64_t port) { return ports_.contains(port); });
  addresses_.insert(added.addresses_.begin(), added.addresses_.end());
  ports_.insert(added.ports_.begin(), added.ports_.end());
  return added;
}

void ServicesInUse::remove(const ServicesInUse& others) {
  for (const Ip& ip : others.addresses_) addresses_.erase(ip);
  for (std::int64_t port : others.ports_) ports_.erase(port);
}

void ServicesInUse::remove(const Value& service) {
  remove(of(service));
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
  std::optional<Error> take_addresses(const Value* old);
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
  std::optional<Error> infer_families();
  std::optional<Error> take_from(std::size_t first);
  Result<std::string> take_address(std::string_view family, const std::string& wanted) const;
  std::optional<Error> refuse_address(const std::string& ip, std::string_view why) const;
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
  if (!needs_address(service_) || (old && keeps_preferred_families(service_, *old)))
    return std::nullopt;
  if (!present(spec_, "ipFamilyPolicy")) {
    if (old && present((*old)["spec"], "ipFamilyPolicy"))
      spec_.set("ipFamilyPolicy", (*old)["spec"]["ipFamilyPolicy"]);
    else
      spec_.set("ipFamilyPolicy",
                is_headless_without_selector(spec_) ? "RequireDualStack" : "SingleStack");
  }
  FieldErrors errors;
  validate_cluster_ip_fields(service_, old, errors);
  if (!errors.empty()) return invalid(std::move(errors));
  if (old && needs_address(*old)) errors = leave_second_family(spec_, (*old)["spec"]);
  if (!errors.empty()) return invalid(std::move(errors));
  if (auto error = infer_families()) return error;

  const ServiceRanges& ranges = owner_.ranges_;
  auto add_missing_family = [&] {
    if (spec_["ipFamilies"].empty()) spec_.member("ipFamilies").push_back(ranges.families[0]);
  };
  auto add_second_family = [&] {
    if (spec_["ipFamilies"].size() == 1 && !is_single_stack(spec_))
      spec_.member("ipFamilies").push_back(other_family(spec_["ipFamilies"][0].as_string()));
  };
  if (is_headless_without_selector(spec_)) {
    add_missing_family();
    add_second_family();
    return std::nullopt;
  }
  const std::string policy(text(spec_, "ipFamilyPolicy"));
  if (policy == "RequireDualStack" && !ranges.is_dual())
    errors.push_back(json::invalid("spec.ipFamilyPolicy", policy,
                                   "this cluster is not configured for dual-stack services"));
  each(spec_, "ipFamilies", "spec", [&](const Value& family, const Path& at) {
    if (!ranges.serves(family.as_string()))
      errors.push_back(json::invalid(at, family, "not configured on this cluster"));
  });
  if (!errors.empty()) return invalid(std::move(errors));
  add_missing_family();
  if (ranges.is_dual()) add_second_family();
  return std::nullopt;
}

// Addresses that the client chose say their families.
std::optional<Error> ServiceAllocator::Attempt::infer_families() {
  FieldErrors errors;
  if (is_single_stack(spec_)) {
    constexpr const char* kNeeds = "must be 'RequireDualStack' or 'PreferDualStack' when multiple ";
    for (const auto& [list, what] : {std::pair("clusterIPs", "cluster IPs are specified"),
                                     std::pair("ipFamilies", "IP families are specified")})
      if (spec_[list].size() == 2)
        errors.push_back(
            json::invalid("spec.ipFamilyPolicy", spec_["ipFamilyPolicy"], cat(kNeeds, what)));
  }
  const std::vector<std::string> ips = cluster_ips(service_);
  for (std::size_t i = spec_["ipFamilies"].size(); i < ips.size() && ips[i] != "None"; ++i) {
    const string_view family = family_of(ips[i]);
    if (owner_.ranges_.serves(family))
      spec_.member("ipFamilies").push_back(family);
    else
      errors.push_back(json::invalid(Path("spec.clusterIPs").index(i), spec_["clusterIPs"],
                                     cat(family, " is not configured on this cluster")));
  }
  return invalid(std::move(errors));
}

std::optional<Error> ServiceAllocator::Attempt::refuse_address(const std::string& ip,
                                                               string_view why) const {
  return invalid({json::invalid("spec.clusterIPs", spec_["clusterIPs"],
                                cat("failed to allocate IP ", ip, ": ", why))});
}

// `wanted` may be empty.
Result<std::string> ServiceAllocator::Attempt::take_address(string_view family,
                                                            const std::string& wanted) const {
  const ServiceRanges& ranges = owner_.ranges_;
  const ServiceRange* usual = ranges.first_of(family);
  if (wanted.empty()) {
    if (dry_run_ && usual) return usual->network().text();
    for (const ServiceRange& range : ranges.ranges) {
      if (range.family() != family) continue;
      const auto free = range.next(random_, [&](const Ip& ip) { return in_use_.has_address(ip); });
      if (free) return free->text();
    }
    return fail(internal_error(cat("failed to allocate a serviceIP for Service ",
                                   quoted(text(service_["metadata"], "name")), ": range is full")));
  }
  const Ip ip = *parse_ip(wanted);
  if (!ranges.with(ip)) {
    if (!dry_run_ || !usual)
      return fail(*refuse_address(wanted, "the provided network does not match the current range"));
    return fail(*refuse_address(
        wanted, cat("the provided IP (", ip.text(),
                    ") is not in the valid range. The range of valid IPs is ", usual->text())));
  }
  if (!dry_run_ && in_use_.has_address(ip))
    return fail(*refuse_address(wanted, "provided IP is already allocated"));
  return wanted;
}

std::optional<Error> ServiceAllocator::Attempt::take_addresses(const Value* old) {
  if (!needs_address(service_) || is_headless(service_)) return std::nullopt;
  if (!old || !needs_address(*old)) return take_from(0);
  if (is_headless(*old) || keeps_preferred_families(service_, *old)) return std::nullopt;
  // Only a second address is ever added. Validation refuses a changed one.
  const bool is_second = (*old)["spec"]["ipFamilies"].size() == 1 &&
                         spec_["ipFamilies"].size() == 2;
  return is_second ? take_from(1) : std::nullopt;
}

// An address for each family but those before `first`, which the service has.
std::optional<Error> ServiceAllocator::Attempt::take_from(std::size_t first) {
  std::vector<std::string> ips = cluster_ips(service_);
  const std::vector<std::string> families = strings(spec_["ipFamilies"]);
  ips.resize(std::max(ips.size(), families.size()));
  for (std::size_t i = first; i < families.size(); ++i) {
    Result<std::string> taken = take_address(families[i], ips[i]);
    if (!taken) return taken.error();
    ips[i] = std::move(*taken);
  }
  spec_.set("clusterIPs", Value::array({ips.begin(), ips.end()}));
  if (!ips.empty()) spec_.set("clusterIP", ips[0]);
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

ServiceAllocator::ServiceAllocator(ServiceRanges ranges, int first_port, int last_port)
    : ranges_(std::move(ranges)), first_port_(first_port), last_port_(last_port) {
  CARDEA_CHECK(!ranges_.families.empty());
  CARDEA_CHECK(first_port > 0 && first_port <= last_port && last_port <= 65535);
}

ServiceAllocator ServiceAllocator::with(std::vector<ServiceRange> ranges) const {
  return {ServiceRanges{ranges_.families, std::move(ranges)}, first_port_, last_port_};
}

std::optional<Error> ServiceAllocator::create(Value& service, const ServicesInUse& in_use,
                                              const Choice& choice) const {
  Value copy = service;
  normalise_cluster_ips(object_member(copy, "spec"), nullptr);
  Attempt attempt(*this, copy, in_use, choice);
  auto error = attempt.fill_families(nullptr);
  if (!error) error = attempt.take_addresses(nullptr);
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
  if (!error) error = attempt.take_addresses(&old);
  if (!error) error = attempt.take_node_ports(&old);
  if (!error) error = attempt.take_health_check_port(&old);
  if (!error) service = std::move(copy);
  return error;
}

}  // namespace cardea::catalog
