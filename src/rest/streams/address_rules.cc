#include "rest/streams/address_rules.h"

#include <algorithm>

#include "base/strings.h"

namespace cardea::rest {
namespace {

using catalog::Cidr;
using catalog::Ip;

// Metadata services of clouds that are not at a link-local address.
constexpr std::string_view kMetadata[] = {"fd00:ec2::254", "100.100.100.200", "168.63.129.16",
                                          "192.0.0.192"};

bool has_prefix(const Ip& ip, std::initializer_list<std::uint8_t> prefix) {
  return std::equal(prefix.begin(), prefix.end(), ip.bytes.begin());
}

// An IPv4 address that a translator (64:ff9b::/96) or 6to4 (2002::/16) would reach.
std::optional<Ip> embedded(const Ip& ip) {
  if (ip.v4) return std::nullopt;
  std::size_t at = 0;
  if (has_prefix(ip, {0x00, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0}))
    at = 12;
  else if (has_prefix(ip, {0x20, 0x02}))
    at = 2;
  else
    return std::nullopt;
  return catalog::parse_ip(cat(int{ip.bytes[at]}, ".", int{ip.bytes[at + 1]}, ".",
                               int{ip.bytes[at + 2]}, ".", int{ip.bytes[at + 3]}));
}

bool is_special(const Ip& ip) {
  if (ip.unspecified() || ip.loopback() || ip.link_local_unicast()) return true;
  if (!ip.v4) return ip.bytes[0] == 0xff;  // multicast
  const std::uint8_t first = ip.bytes[12];
  const bool is_broadcast = std::all_of(ip.bytes.begin() + 12, ip.bytes.end(),
                                        [](std::uint8_t b) { return b == 0xff; });
  return first == 0 || (first & 0xf0) == 0xe0 || is_broadcast;
}

bool is_metadata(const Ip& ip) {
  return std::ranges::any_of(kMetadata,
                             [&](std::string_view one) { return catalog::parse_ip(one) == ip; });
}

}  // namespace

Result<AddressRules> AddressRules::make(const std::vector<std::string>& exceptions) {
  AddressRules out;
  for (const std::string& text : exceptions) {
    std::optional<Cidr> network = catalog::parse_cidr(text);
    if (!network)
      if (auto ip = catalog::parse_ip(text)) network = Cidr{*ip, ip->v4 ? 32 : 128};
    if (!network) return fail(bad_request(cat("`", text, "` is neither an address nor a network")));
    out.exceptions_.push_back(*network);
  }
  return out;
}

bool AddressRules::admits(std::string_view address) const {
  const auto ip = catalog::parse_ip(address);
  if (!ip) return false;
  if (std::ranges::any_of(exceptions_, [&](const Cidr& c) { return c.contains(*ip); })) return true;
  if (is_special(*ip) || is_metadata(*ip)) return false;
  const auto inner = embedded(*ip);
  return !inner || (!is_special(*inner) && !is_metadata(*inner));
}

bool is_plain_host(std::string_view host) {
  if (catalog::parse_ip(host)) return true;
  return !host.empty() && host.size() < 254 &&
         std::ranges::all_of(
             host,
             [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '-' || c == '_' || c == '.';
             });
}

}  // namespace cardea::rest
