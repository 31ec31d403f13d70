#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>

#include "authz/request_info.h"

namespace cardea::rest::fairness {

using Time = std::chrono::steady_clock::time_point;

// How much of the server a request takes: seats while it runs, and afterwards others for as long as
// its watchers are told.
struct Work {
  std::uint32_t seats = 1;
  std::uint32_t last_seats = 0;
  std::chrono::nanoseconds last{};

  // Held from the beginning to the end of both.
  std::uint32_t most() const { return std::max(seats, last_seats); }
};

// What the estimate needs to know about the server.
class WorkFacts {
 public:
  virtual ~WorkFacts() = default;
  // How many objects are in the collection that a list or watch reads.
  virtual std::int64_t objects(const authz::RequestInfo& info) const = 0;
  // How many watchers will be told of the write.
  virtual std::int64_t watchers(const authz::RequestInfo& info) const = 0;
};

// One seat for 100 objects that a list or the beginning of a watch goes through, and for 10
// watchers that a write tells; never more than 10, nor more than `most` (0: no limit of the level).
Work estimate(const authz::RequestInfo& info, std::uint32_t most, const WorkFacts& facts);

}  // namespace cardea::rest::fairness
