#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalog/kinds/ip.h"

namespace cardea::catalog {

// A range of cluster addresses. Services do not get its first address, which names the network,
// and in IPv4 not its last one, the broadcast address.
class ServiceRange {
 public:
  // `owner` is the ServiceCIDR that it stands in; empty: it stands in a flag.
  ServiceRange(Cidr cidr, std::string text, std::string owner = "");

  const std::string& text() const { return text_; }
  const std::string& owner() const { return owner_; }
  std::string_view family() const { return cidr_.address.family(); }
  Ip network() const { return cidr_.network(); }
  Ip first() const { return at(1); }
  bool covers(const Ip& ip) const { return cidr_.contains(ip); }  // the edges too
  bool has(const Ip& ip) const;                                   // for services

  // A free address; `random` chooses. As in Kubernetes the low addresses come last: people choose
  // from them. nullopt: the range is full.
  template <class IsTaken>
  std::optional<Ip> next(std::uint64_t random, const IsTaken& is_taken) const {
    for (const auto& [first, count] : {Block{1 + low_, last_ - low_}, Block{1, low_}})
      for (std::uint64_t step = 0; step < count; ++step)
        if (Ip ip = at(first + (random % count + step) % count); !is_taken(ip)) return ip;
    return std::nullopt;
  }

 private:
  struct Block {
    std::uint64_t first, count;
  };
  Ip at(std::uint64_t offset) const;

  Cidr cidr_;
  std::string text_, owner_;
  std::uint64_t last_ = 0;  // the addresses are 1 to last_ after the network's
  std::uint64_t low_ = 0;   // of these: how many come last
};

// All ranges of a cluster, and the families that it is configured for.
struct ServiceRanges {
  std::vector<std::string_view> families;  // "IPv4", "IPv6"; the first is that of services which
                                           // do not say
  std::vector<ServiceRange> ranges;        // in the order in which they are used

  // "10.0.0.0/24", or two of different families, separated by a comma.
  static Result<ServiceRanges> parse(std::string_view text);

  bool serves(std::string_view family) const;
  bool is_dual() const { return families.size() == 2; }
  const ServiceRange* with(const Ip& ip) const;                 // that has the address; or null
  const ServiceRange* first_of(std::string_view family) const;  // or null
};

}  // namespace cardea::catalog
