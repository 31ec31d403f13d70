#pragma once
#include <chrono>
#include <cstdint>
#include <string_view>

#include "base/clock.h"
#include "store/store.h"

// What the engines share: how much history they keep, and what a transaction may be.
namespace cardea::store {

struct HistoryOptions {
  std::chrono::seconds keep{300};
  // Superseded records live in memory; beyond this many bytes history is cut short.
  std::uint64_t max_bytes = 128ull << 20;
};

// Written when a while has passed after the last change. Not a client's key.
inline constexpr std::string_view kQuietKey = "/cardea/quiet";

std::int64_t unix_seconds(const Clock& clock);

// Whether it is well formed: kBadRequest, or kRequestEntityTooLarge.
Result<void> check(const Txn& txn);

}  // namespace cardea::store
