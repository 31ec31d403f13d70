#pragma once
#include <chrono>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "authz/attributes.h"
#include "base/strings.h"

namespace cardea::rest::bridge {

// The questions that were answered with Allow on conditions, and whose requests may still be on
// their way through the cluster. A request may take its time between the phases, because its sender
// may send the body slowly. If its conditions are gone when it arrives at admission, it must not
// pass: otherwise who waits for a policy to be deleted would be allowed everything.
//
// Remembers each for at least `life` and at most twice as long. Bounded: a user with very many
// questions is remembered as a whole, and when there are too many users no further answer is
// bridged. Any thread.
class Promises {
 public:
  using Time = std::chrono::steady_clock::time_point;
  struct Limits {
    std::size_t per_user = 2'000, users = 20'000;
  };
  explicit Promises(std::chrono::milliseconds life) : Promises(life, Limits{}) {}
  Promises(std::chrono::milliseconds life, Limits limits) : life_(life), limits_(limits) {}

  // False: it cannot be remembered, so it must not be given.
  bool give(const authz::Attributes& question, Time now);
  bool has(const authz::Attributes& question, Time now) const;

 private:
  struct OfUser {
    std::unordered_set<std::string> questions;
    bool is_whole = false;  // every question of this user
  };
  using Generation = std::unordered_map<std::string, OfUser, StringHash, std::equal_to<>>;
  static bool contains(const Generation& generation, const authz::Attributes& question,
                       const std::string& key);

  const std::chrono::milliseconds life_;
  const Limits limits_;
  mutable std::mutex mutex_;
  Generation young_, old_;  // guarded by mutex_, as the next
  Time began_ = {};         // the young generation
};

}  // namespace cardea::rest::bridge
