#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "cel/eval/opaque.h"

namespace cardea::cel {

// Addresses as Go's netip reads them, with its words in `why`. Zones are refused, and so is IPv4
// inside IPv6 (`mapped_in_hex` allows it if it is not written with dots).
std::optional<Ip> parse_ip(std::string_view text, std::string& why, bool mapped_in_hex = false);
std::optional<Cidr> parse_cidr(std::string_view text, std::string& why);
bool cidr_contains(const Cidr& cidr, const Ip& ip);
Ip masked(const Ip& ip, std::uint32_t prefix);

}  // namespace cardea::cel
