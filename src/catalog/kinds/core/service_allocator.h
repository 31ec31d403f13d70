#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/error.h"
#include "catalog/kinds/core/service_ranges.h"
#include "json/value.h"

namespace cardea::catalog {

// The addresses of a service, without spellings; none for a headless one.
std::set<Ip> service_addresses(const json::Value& service);

// The addresses and ports that are in use: by services, and addresses also by IPAddress objects.
// Build it from what is stored, or update it with add and remove.
class ServicesInUse {
 public:
  static ServicesInUse of(const json::Value& service);
  ServicesInUse add(const json::Value& service);  // returns what was not in use before
  void remove(const json::Value& service);
  void remove(const ServicesInUse& others);
  void hold(const Ip& address) { held_.insert(address); }  // by an IPAddress
  void release(const Ip& address) { held_.erase(address); }
  bool has_address(const Ip& ip) const { return addresses_.contains(ip) || held_.contains(ip); }
  // What is given out besides: it may be a service's that is not stored yet. Replaces what it was.
  void hold_ports(std::set<std::int64_t> ports) { held_ports_ = std::move(ports); }
  bool has_port(std::int64_t port) const {
    return ports_.contains(port) || held_ports_.contains(port);
  }
  const std::set<std::int64_t>& ports() const { return ports_; }  // of services
  std::size_t address_count() const { return addresses_.size(); }
  std::size_t port_count() const { return ports_.size(); }

 private:
  std::set<Ip> addresses_, held_;
  std::set<std::int64_t> ports_, held_ports_;  // node ports and health check ports
};

// Assigns cluster addresses and node ports to services, and fills in the fields that follow from
// them (ipFamilies, ipFamilyPolicy, clusterIPs). It runs after defaults and admission, and before
// the hooks prepare and validate of the strategy. Immutable: the caller holds a lock between asking
// and storing, or tries again.
class ServiceAllocator {
 public:
  ServiceAllocator(ServiceRanges ranges, int first_port, int last_port);

  const ServiceRanges& ranges() const { return ranges_; }
  // The same with other ranges. The families of the cluster stay.
  ServiceAllocator with(std::vector<ServiceRange> ranges) const;

  struct Choice {
    Choice(std::uint64_t r, bool dry = false) : random(r), dry_run(dry) {}
    std::uint64_t random;  // chooses among the free ones
    bool dry_run;  // an address or port that the client requests is not compared with those in use
  };

  // On error the service is unchanged.
  std::optional<Error> create(json::Value& service, const ServicesInUse& in_use,
                              const Choice& choice) const;
  std::optional<Error> update(json::Value& service, const json::Value& old,
                              const ServicesInUse& in_use, const Choice& choice) const;

 private:
  class Attempt;
  ServiceRanges ranges_;
  int first_port_, last_port_;
};

// A service with traffic from its own node only needs a port at which nodes report whether they
// have endpoints.
bool needs_health_check(const json::Value& service);
bool is_externally_accessible(const json::Value& service);
bool is_headless(const json::Value& service);

}  // namespace cardea::catalog
