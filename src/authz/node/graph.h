#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "authz/node/link_set.h"
#include "authz/node/references.h"
#include "base/random.h"
#include "base/snapshot.h"
#include "base/strings.h"

namespace cardea::authz::node {

// Which objects are needed on which node: pods that run there, what they refer to, and so on along
// claims and volumes.
//
// The question is always "does this object lead to that node?", so that is what is kept: a set of
// (object, node), each with the number of ways that lead there. A question is one lookup, however
// many pods share a secret; a change of a pod costs what that pod refers to, however many pods
// there are.
//
// Questions come from any thread and take no lock. Changes may come from any thread.
class Graph {
 public:
  explicit Graph(Random& random) : hash_(random.next(), random.next()) {}

  bool leads_to(Kind kind, std::string_view namespace_name, std::string_view name,
                std::string_view node) const {
    return current_.get()->contains(
        hash_(static_cast<std::uint8_t>(kind), namespace_name, name, node));
  }

  // What an object said before (empty: it was not there) and says now. The difference is visible to
  // questions that are asked after this returns.
  void change(const Placement& before, const Placement& after);
  void change(const Binding& before, const Binding& after);

  // The same for many objects, as one change.
  struct Changes {
    std::vector<std::pair<Placement, Placement>> placements;  // before and after
    std::vector<std::pair<Binding, Binding>> bindings;
  };
  void change(const Changes& changes);

  // The graph as it is now; it never changes again.
  std::shared_ptr<const Graph> frozen() const;

  // Every node that something leads to, in order, and the graph that says so. Waits for a change
  // that is being made, and costs the number of nodes: for those who ask about all of them, not for
  // decisions.
  struct Nodes {
    std::vector<std::string> names;
    std::shared_ptr<const Graph> graph;
  };
  Nodes nodes() const;

  // All that is in it, for tests: two graphs with the same secret that hold the same are equal.
  std::map<LinkKey, std::uint32_t> content() const;

 private:
  struct Claim {
    std::map<std::string, std::uint32_t> nodes;  // with the number of pods there
    std::vector<Binding> volumes;
    bool empty() const { return nodes.empty() && volumes.empty(); }
  };

  Graph(const LinkHash& hash, std::shared_ptr<const LinkSet> links)
      : hash_(hash), current_(std::move(links)) {}

  void put(const Placement& p, bool is_there);
  void put(const Binding& b, bool is_there);
  void link(const Vertex& v, std::string_view node, std::uint32_t times, bool is_there);
  void publish();

  const LinkHash hash_;
  Snapshot<LinkSet> current_{std::make_shared<const LinkSet>()};

  mutable std::mutex writing_;  // guards what follows
  LinkSet links_;
  std::unordered_map<std::string, Claim, StringHash, std::equal_to<>> claims_;  // by
                                                                                // "namespace/name"
  std::map<std::string, std::uint32_t, std::less<>> nodes_;  // with the number of objects that say
                                                             // that they are needed there
};

}  // namespace cardea::authz::node
