#pragma once
#include <atomic>
#include <memory>
#include <vector>

#include "net/loop.h"
#include "rest/call.h"

namespace cardea::rest {

// Threads for requests whose work would keep a loop of connections waiting: large bodies and
// objects, long lists. A request that is sent here does everything on one of these threads, from
// reading its body to writing its answer; only the bytes go through the loop of its connection.
//
// These threads run at a lower priority than the loops, so that on a busy machine the many small
// requests go first. Any thread may ask.
class HeavyLanes {
 public:
  explicit HeavyLanes(std::size_t count);
  ~HeavyLanes();

  // The lane for this call, or null where it is quick. Estimates from sizes that are known without
  // reading anything.
  net::Loop* lane_for(const Call& call);
  // The same for a path that describes the server.
  net::Loop* lane_for(const authz::RequestInfo& info);

  // Counts a request as one of its lane while this lives.
  class Stay {
   public:
    Stay() = default;
    Stay(HeavyLanes& lanes, const net::Loop& lane);
    ~Stay();
    Stay(const Stay&) = delete;
    Stay& operator=(const Stay&) = delete;

   private:
    std::atomic<int>* waiting_ = nullptr;
  };

  void stop();  // waits for the threads; from outside of them

 private:
  net::Loop& shortest();

  net::Loops loops_;
  std::vector<std::atomic<int>> waiting_;  // by lane
};

}  // namespace cardea::rest
