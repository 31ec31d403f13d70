#include "catalog/kinds/core/service_ranges.h"

#include <algorithm>

#include "base/strings.h"

namespace cardea::catalog {
namespace {

// More than anybody will use; a range may be larger.
constexpr int kMostHostBits = 62;

// How many addresses of a range are left to those who choose: a sixteenth, but at least 16 and at
// most 256; none in a small range.
std::uint64_t low_part(std::uint64_t size) {
  return size <= 16 ? 0 : std::clamp<std::uint64_t>(size / 16, 16, 256);
}

}  // namespace

ServiceRange::ServiceRange(Cidr cidr, std::string text, std::string owner)
    : cidr_(cidr), text_(std::move(text)), owner_(std::move(owner)) {
  const int bits = std::min((cidr.address.v4 ? 32 : 128) - cidr.prefix, kMostHostBits);
  const std::uint64_t size = std::uint64_t{1} << bits, edges = cidr.address.v4 ? 2 : 1;
  last_ = size > edges ? size - edges : 0;
  low_ = low_part(last_);
}

bool ServiceRange::has(const Ip& ip) const {
  return covers(ip) && ip != cidr_.network() && !(ip.v4 && ip == cidr_.last());
}

Ip ServiceRange::at(std::uint64_t offset) const {
  Ip ip = cidr_.network();
  for (std::size_t byte = 15; offset != 0; --byte, offset >>= 8)
    ip.bytes[byte] |= static_cast<std::uint8_t>(offset & 0xff);
  return ip;
}

Result<ServiceRanges> ServiceRanges::parse(std::string_view text) {
  auto wrong = [](std::string why) { return fail(bad_request(std::move(why))); };
  ServiceRanges out;
  for (std::string_view part : split(text, ',')) {
    part = trim(part);
    const auto cidr = parse_cidr(part);
    if (!cidr)
      return wrong(cat("`", part, "` is not a range of addresses; write it as 10.0.0.0/24"));
    if (cidr->network() != cidr->address)
      return wrong(cat("`", part, "` does not begin a range of /", cidr->prefix));
    const int bits = (cidr->address.v4 ? 32 : 128) - cidr->prefix;
    if (bits < 2 || (cidr->address.v4 && bits > 24))
      return wrong(cat("`", part, "` is too ", bits < 2 ? "small" : "large",
                       " for the addresses of services"));
    out.families.push_back(cidr->address.family());
    out.ranges.emplace_back(*cidr, std::string(part));
  }
  if (out.ranges.size() > 2) return wrong("there are more than two ranges of service addresses");
  if (out.is_dual() && out.families[0] == out.families[1])
    return wrong(cat("the ranges of service addresses, `", text, "`, are of one family"));
  return out;
}

bool ServiceRanges::serves(std::string_view family) const {
  return std::ranges::find(families, family) != families.end();
}

const ServiceRange* ServiceRanges::with(const Ip& ip) const {
  const auto found = std::ranges::find_if(ranges, [&](const auto& r) { return r.has(ip); });
  return found == ranges.end() ? nullptr : &*found;
}

const ServiceRange* ServiceRanges::first_of(std::string_view family) const {
  const auto found = std::ranges::find(ranges, family, &ServiceRange::family);
  return found == ranges.end() ? nullptr : &*found;
}

}  // namespace cardea::catalog
