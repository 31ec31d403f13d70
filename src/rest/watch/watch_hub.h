#pragma once
#include <memory>
#include <vector>

#include "base/task.h"
#include "rest/call.h"

namespace cardea::rest {

class WatchHub;

// Watches, one hub per event loop. All watchers of a loop on one collection share one
// subscription of the store and the bytes of each event, so that ten thousand of them cost one
// encoding.
class WatchHubs {
 public:
  WatchHubs(store::Store& store, net::Loops& loops);
  ~WatchHubs();

  // Answers the call by streaming. Loop thread.
  Result<Answer> watch(Call& call);
  // The same where a webhook converts the objects (rest/watch/converted_line.h).
  Task<Result<Answer>> watch_by_webhook(Call& call);

  // Ends the watches of custom resources whose definition is another in this catalogue, or gone.
  // Any thread.
  void end_outdated(std::shared_ptr<const catalog::Catalog> now);
  // Ends all watches, cleanly. From outside the loops.
  void stop();

 private:
  WatchHub* hub_of(const Call& call);

  net::Loops& loops_;
  std::vector<std::unique_ptr<WatchHub>> hubs_;
};

}  // namespace cardea::rest
