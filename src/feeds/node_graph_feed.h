#pragma once
#include <memory>
#include <vector>

#include "authz/node/graph.h"
#include "base/result.h"
#include "store/store.h"

namespace cardea::feeds {

// Fills a graph from a store and keeps it filled: what a write changed is in the graph before the
// write is acknowledged. Borrows both.
class NodeGraphFeed {
 public:
  static Result<std::unique_ptr<NodeGraphFeed>> start(store::Store& store,
                                                      authz::node::Graph& graph);

 private:
  std::vector<std::unique_ptr<store::Watch>> watches_;
};

}  // namespace cardea::feeds
