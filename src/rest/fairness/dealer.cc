#include "rest/fairness/dealer.h"

#include <algorithm>

namespace cardea::rest::fairness {
namespace {

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

}  // namespace

std::span<const std::uint32_t> deal(std::uint64_t hash, std::uint32_t queues, std::uint32_t hand,
                                    std::array<std::uint32_t, kMostCards>& out) {
  const std::size_t count = std::min<std::size_t>({hand, queues, kMostCards});
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t left = queues - i;
    auto card = static_cast<std::uint32_t>(hash % left);
    hash /= left;
    // The card-th of those that were not dealt yet; `out` is sorted up to here.
    std::size_t at = 0;
    while (at < i && out[at] <= card) {
      ++card;
      ++at;
    }
    std::copy_backward(out.begin() + static_cast<std::ptrdiff_t>(at),
                       out.begin() + static_cast<std::ptrdiff_t>(i),
                       out.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    out[at] = card;
  }
  return {out.data(), count};
}

std::uint64_t flow_hash(std::uint64_t secret, std::string_view schema, std::string_view flow) {
  std::uint64_t hash = mixed(secret);
  for (std::string_view part : {schema, flow}) {
    for (unsigned char c : part) hash = mixed(hash ^ c) + secret;
    hash = mixed(hash ^ 0x100);  // no byte: where one part ends
  }
  return hash;
}

}  // namespace cardea::rest::fairness
