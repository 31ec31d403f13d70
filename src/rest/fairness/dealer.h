#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace cardea::rest::fairness {

inline constexpr std::size_t kMostCards = 15;  // a hand of more needs more bits than a hash has

// Shuffle sharding: `hand` different queues of `queues`, chosen by the bits of `hash`. Two flows
// seldom share all of theirs, so that one flow cannot fill all queues of another.
std::span<const std::uint32_t> deal(std::uint64_t hash, std::uint32_t queues, std::uint32_t hand,
                                    std::array<std::uint32_t, kMostCards>& out);

// `secret` keeps others from finding a name whose queues are those of a victim.
std::uint64_t flow_hash(std::uint64_t secret, std::string_view schema, std::string_view flow);

}  // namespace cardea::rest::fairness
