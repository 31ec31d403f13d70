#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/error.h"
#include "catalog/kinds/ip.h"
#include "json/value.h"

namespace cardea::catalog {

// The addresses and ports that services hold. Build it from the stored services, or keep it up to
// date with add and remove as they come and go.
class ServicesInUse {
 public:
  void add(const json::Value& service);
  void remove(const json::Value& service);
  bool has_address(std::string_view ip) const { return addresses_.contains(ip); }
  bool has_port(std::int64_t port) const { return ports_.contains(port); }
  std::size_t address_count() const { return addresses_.size(); }
  std::size_t port_count() const { return ports_.size(); }

 private:
  std::set<std::string, std::less<>> addresses_;  // canonical
  std::set<std::int64_t> ports_;                  // node ports and health check ports
};

// Gives services their cluster addresses and node ports, and fills in what follows from them
// (ipFamilies, ipFamilyPolicy, clusterIPs). It runs after defaults and admission and before the
// strategy's prepare and validate hooks. Immutable: the caller holds the lock, or retries, between
// asking and storing.
class ServiceAllocator {
 public:
  // "10.0.0.0/24", 30000, 32767. `cidr` must be valid and hold at least two addresses for services.
  ServiceAllocator(std::string_view cidr, int first_port, int last_port);

  struct Choice {
    Choice(std::uint64_t r, bool dry = false) : random(r), dry_run(dry) {}
    std::uint64_t random;  // picks among what is free
    bool dry_run;          // what a client asks for is not held against what is taken
  };

  // On error the service is unchanged.
  std::optional<Error> create(json::Value& service, const ServicesInUse& in_use,
                              const Choice& choice) const;
  std::optional<Error> update(json::Value& service, const json::Value& old,
                              const ServicesInUse& in_use, const Choice& choice) const;

 private:
  class Attempt;
  std::string cidr_text_;
  Cidr cidr_;
  int first_port_, last_port_;
};

// A service that wants traffic of its own node only needs a port on which nodes say whether they
// have any.
bool needs_health_check(const json::Value& service);
bool is_externally_accessible(const json::Value& service);
bool is_headless(const json::Value& service);

}  // namespace cardea::catalog
