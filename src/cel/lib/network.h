#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "cel/eval/opaque.h"

namespace cardea::cel {

// Addresses as Go's netip reads them, and with its words in `why`. No zones, no IPv4 inside IPv6
// (`mapped_in_hex` allows it where it is not written with dots).
std::optional<Ip> parse_ip(std::string_view text, std::string& why, bool mapped_in_hex = false);
std::optional<Cidr> parse_cidr(std::string_view text, std::string& why);
bool cidr_contains(const Cidr& cidr, const Ip& ip);
Ip masked(const Ip& ip, std::uint32_t prefix);

}  // namespace cardea::cel
