#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "authz/node/graph.h"
#include "store/follow.h"

namespace cardea::feeds {

// Pods, volumes and what else names a node, as a graph, which it borrows. What cannot be read leads
// nowhere.
class NodeGraphFold {
 public:
  explicit NodeGraphFold(authz::node::Graph& graph) : graph_(graph) {}

  std::vector<std::string> prefixes() const;
  store::Folded change(std::string_view key, const store::Record* before,
                       const store::Record* after);
  void publish();

 private:
  authz::node::Graph& graph_;
  authz::node::Graph::Changes changes_;  // that the graph does not show yet
};

using NodeGraphFeed = store::Follower<NodeGraphFold>;

}  // namespace cardea::feeds
