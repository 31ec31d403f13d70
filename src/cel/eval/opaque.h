#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "cel/eval/value.h"

// Values of library types without a literal: addresses, URLs, quantities, versions, formats,
// authorization.
namespace cardea::cel {

struct Frame;

struct Ip {
  bool six = false;
  std::uint8_t bytes[16] = {};  // the first four of an IPv4 address
  std::uint32_t width() const { return six ? 16 : 4; }
};

struct Cidr {
  Ip ip;
  std::uint32_t prefix = 0;
};

struct Url {
  std::string_view text, scheme, user, host, path, escaped_path, query, fragment;
};

// An amount in Kubernetes' notation. It is kept as its canonical text, because arena values own
// nothing. `small`: Kubernetes keeps it as value * 10^scale, and treats it as an integer if it is
// one; otherwise as a number of any size times 10^scale. The scale decides how a double of it is
// rounded.
struct Amount {
  std::string_view text;
  bool small = false;
  std::int32_t scale = 0;
  std::int64_t value = 0;
};

struct Semver {
  std::uint64_t major = 0, minor = 0, patch = 0;
  std::string_view prerelease, build;
};

struct Format {
  std::string_view name;
  std::uint32_t longest_pattern;  // for the cost of validate()
  // Adds messages about the errors of `text`.
  void (*validate)(Frame& frame, std::string_view text, ListBuilder& messages);
};

inline const Ip& ip_of(const Value& v) {
  return *static_cast<const Ip*>(v.opaque);
}
inline const Cidr& cidr_of(const Value& v) {
  return *static_cast<const Cidr*>(v.opaque);
}
inline const Url& url_of(const Value& v) {
  return *static_cast<const Url*>(v.opaque);
}
inline const Amount& amount_of(const Value& v) {
  return *static_cast<const Amount*>(v.opaque);
}
inline const Semver& semver_of(const Value& v) {
  return *static_cast<const Semver*>(v.opaque);
}
inline const Format& format_of(const Value& v) {
  return *static_cast<const Format*>(v.opaque);
}

bool equal_opaque(const Value& a, const Value& b);
Value copy_opaque(Arena& arena, const Value& v);
// The call that makes the value again: `ip("10.0.0.1")`. Empty if there is none.
std::string print_opaque(const Value& v);

std::string print_ip(const Ip& ip);
std::string print_cidr(const Cidr& cidr);
std::string print_semver(const Semver& version);
bool same_amount(const Amount& a, const Amount& b);
int compare_semver(const Semver& a, const Semver& b);

}  // namespace cardea::cel
