#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "catalog/kinds/path.h"
#include "json/field_error.h"

namespace cardea::catalog {

// An IP address as Kubernetes' older fields read it: leading zeros in IPv4 are decimal, not octal.
struct Ip {
  std::array<std::uint8_t, 16> bytes{};  // IPv4 in the last four
  bool v4 = false;                       // also for ::ffff:1.2.3.4

  std::string text() const;  // RFC 5952
  bool unspecified() const;
  bool loopback() const;
  bool link_local_unicast() const;
  bool link_local_multicast() const;
  friend auto operator<=>(const Ip&, const Ip&) = default;
  std::string_view family() const { return v4 ? "IPv4" : "IPv6"; }
};

struct Cidr {
  Ip address;
  int prefix = 0;
  bool contains(const Ip& ip) const;
  Ip network() const;
  Ip last() const;  // the broadcast address in IPv4
};

std::optional<Ip> parse_ip(std::string_view text);
std::optional<Cidr> parse_cidr(std::string_view text);

// The errors of an address in a field. `strict` also refuses leading zeros and IPv4 inside IPv6.
void validate_ip(const Path& path, std::string_view text, bool strict, json::FieldErrors& out);
// The rule of newer fields: strict, and in the canonical spelling only.
void validate_canonical_ip(const Path& path, std::string_view text, json::FieldErrors& out);
void validate_cidr(const Path& path, std::string_view text, bool strict, json::FieldErrors& out);

// A warning for an address that is accepted but has an unusual spelling.
void warn_about_ip(const Path& path, std::string_view text, std::vector<std::string>& out);
void warn_about_cidr(const Path& path, std::string_view text, std::vector<std::string>& out);

}  // namespace cardea::catalog
