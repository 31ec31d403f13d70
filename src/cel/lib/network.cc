#include "cel/lib/network.h"

#include <algorithm>
#include <vector>

#include "base/strings.h"
#include "cel/eval/frame.h"
#include "cel/lib/libraries.h"

namespace cardea::cel {
namespace {

using Args = const Value*;

Value made(Frame& f, const Ip& ip) {
  return Value::of_opaque(Kind::kIp, f.arena.make<Ip>(ip));
}
Value made(Frame& f, const Cidr& cidr) {
  return Value::of_opaque(Kind::kCidr, f.arena.make<Cidr>(cidr));
}

Value text_to_ip(Frame& f, Args a, std::size_t) {
  std::string why;
  const auto ip = parse_ip(a[0].string(), why);
  return ip ? made(f, *ip) : f.error(why);
}
Value text_to_ip_lenient(Frame& f, Args a, std::size_t) {
  std::string why;
  const auto ip = parse_ip(a[0].string(), why, true);
  return ip ? made(f, *ip) : f.error(why);
}
Value is_ip(Frame&, Args a, std::size_t) {
  std::string why;
  return Value::of(parse_ip(a[0].string(), why).has_value());
}
Value is_canonical(Frame& f, Args a, std::size_t) {
  std::string why;
  const auto ip = parse_ip(a[0].string(), why);
  return ip ? Value::of(print_ip(*ip) == a[0].string()) : f.error(why);
}
Value ip_to_text(Frame& f, Args a, std::size_t) {
  return f.text(print_ip(ip_of(a[0])));
}
Value family(Frame&, Args a, std::size_t) {
  return Value::of_int(ip_of(a[0]).six ? 6 : 4);
}

bool all_zero(const Ip& ip) {
  return std::all_of(ip.bytes, ip.bytes + ip.width(), [](std::uint8_t b) { return b == 0; });
}
bool loopback(const Ip& ip) {
  return ip.six ? std::all_of(ip.bytes, ip.bytes + 15, [](std::uint8_t b) { return b == 0; }) &&
                      ip.bytes[15] == 1
                : ip.bytes[0] == 127;
}
bool multicast(const Ip& ip) {
  return ip.six ? ip.bytes[0] == 0xFF : (ip.bytes[0] & 0xF0) == 0xE0;
}
bool link_local_multicast(const Ip& ip) {
  return ip.six ? ip.bytes[0] == 0xFF && (ip.bytes[1] & 0x0F) == 2
                : ip.bytes[0] == 224 && ip.bytes[1] == 0 && ip.bytes[2] == 0;
}
bool link_local_unicast(const Ip& ip) {
  return ip.six ? ip.bytes[0] == 0xFE && (ip.bytes[1] & 0xC0) == 0x80
                : ip.bytes[0] == 169 && ip.bytes[1] == 254;
}
bool global_unicast(const Ip& ip) {
  if (!ip.six && std::all_of(ip.bytes, ip.bytes + 4, [](std::uint8_t b) { return b == 255; }))
    return false;
  return !all_zero(ip) && !loopback(ip) && !multicast(ip) && !link_local_unicast(ip);
}
template <bool (*kTest)(const Ip&)>
Value ask(Frame&, Args a, std::size_t) {
  return Value::of(kTest(ip_of(a[0])));
}

Value text_to_cidr(Frame& f, Args a, std::size_t) {
  std::string why;
  const auto cidr = parse_cidr(a[0].string(), why);
  return cidr ? made(f, *cidr) : f.error(why);
}
Value is_cidr(Frame&, Args a, std::size_t) {
  std::string why;
  return Value::of(parse_cidr(a[0].string(), why).has_value());
}
Value contains_ip(Frame&, Args a, std::size_t) {
  return Value::of(cidr_contains(cidr_of(a[0]), ip_of(a[1])));
}
Value contains_ip_text(Frame& f, Args a, std::size_t) {
  std::string why;
  const auto ip = parse_ip(a[1].string(), why);
  return ip ? Value::of(cidr_contains(cidr_of(a[0]), *ip)) : f.error(why);
}
bool holds(const Cidr& outer, const Cidr& inner) {
  return outer.prefix <= inner.prefix && cidr_contains(outer, inner.ip);
}
Value contains_cidr(Frame&, Args a, std::size_t) {
  return Value::of(holds(cidr_of(a[0]), cidr_of(a[1])));
}
Value contains_cidr_text(Frame& f, Args a, std::size_t) {
  std::string why;
  const auto inner = parse_cidr(a[1].string(), why);
  return inner ? Value::of(holds(cidr_of(a[0]), *inner)) : f.error(why);
}
Value cidr_ip(Frame& f, Args a, std::size_t) {
  return made(f, cidr_of(a[0]).ip);
}
Value prefix_length(Frame&, Args a, std::size_t) {
  return Value::of_int(cidr_of(a[0]).prefix);
}
Value masked_cidr(Frame& f, Args a, std::size_t) {
  Cidr cidr = cidr_of(a[0]);
  cidr.ip = masked(cidr.ip, cidr.prefix);
  return made(f, cidr);
}
Value is_mask(Frame&, Args a, std::size_t) {
  return Value::of(print_ip(masked(cidr_of(a[0]).ip, cidr_of(a[0]).prefix)) ==
                   print_ip(cidr_of(a[0]).ip));
}
Value cidr_to_text(Frame& f, Args a, std::size_t) {
  return f.text(print_cidr(cidr_of(a[0])));
}

constexpr OverloadRow kIpRows[] = {
    {"ip", "string_to_ip", "(string) net.IP", text_to_ip},
    {"isIP", "is_ip", "(string) bool", is_ip},
    {"ip.isCanonical", "ip_is_canonical", "(string) bool", is_canonical},
    {"string", "ip_to_string", "(net.IP) string", ip_to_text},
    {"family", "ip_family", "net.IP.() int", family},
    {"isUnspecified", "ip_is_unspecified", "net.IP.() bool", ask<all_zero>},
    {"isLoopback", "ip_is_loopback", "net.IP.() bool", ask<loopback>},
    {"isLinkLocalMulticast", "ip_is_link_local_multicast", "net.IP.() bool",
     ask<link_local_multicast>},
    {"isLinkLocalUnicast", "ip_is_link_local_unicast", "net.IP.() bool", ask<link_local_unicast>},
    {"isGlobalUnicast", "ip_is_global_unicast", "net.IP.() bool", ask<global_unicast>},
};
constexpr OverloadRow kCidrRows[] = {
    {"cidr", "string_to_cidr", "(string) net.CIDR", text_to_cidr},
    {"isCIDR", "is_cidr", "(string) bool", is_cidr},
    {"containsIP", "cidr_contains_ip_string", "net.CIDR.(string) bool", contains_ip_text},
    {"containsIP", "cidr_contains_ip_ip", "net.CIDR.(net.IP) bool", contains_ip},
    {"containsCIDR", "cidr_contains_cidr_string", "net.CIDR.(string) bool", contains_cidr_text},
    {"containsCIDR", "cidr_contains_cidr", "net.CIDR.(net.CIDR) bool", contains_cidr},
    {"ip", "cidr_ip", "net.CIDR.() net.IP", cidr_ip},
    {"prefixLength", "cidr_prefix_length", "net.CIDR.() int", prefix_length},
    {"masked", "cidr_masked", "net.CIDR.() net.CIDR", masked_cidr},
    {"string", "cidr_to_string", "(net.CIDR) string", cidr_to_text},
    {"isMask", "cidr_is_mask", "net.CIDR.() bool", is_mask, nullptr, 1},
};

std::vector<OverloadRow> all_rows() {
  std::vector<OverloadRow> rows(std::begin(kIpRows), std::end(kIpRows));
  rows.insert(rows.end(), std::begin(kCidrRows), std::end(kCidrRows));
  rows[0].call = text_to_ip_lenient;
  return rows;
}

}  // namespace

std::span<const OverloadRow> ip_overloads() {
  return kIpRows;
}
std::span<const OverloadRow> cidr_overloads() {
  return {kCidrRows, std::size(kCidrRows) - 1};
}  // Kubernetes has no isMask
std::span<const OverloadRow> network_overloads() {
  static const std::vector<OverloadRow> rows = all_rows();
  return rows;
}

}  // namespace cardea::cel
