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

// Which objects are needed on which node: the pods that run there, the objects they refer to,
// and further objects along claims and volumes.
//
// The question is always "is this object needed on that node?", so the graph keeps a set of
// (object, node), each with the number of paths between them. A question is one lookup, however
// many pods share a secret. A change of a pod costs the number of its references, however many
// pods there are.
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

  // The references of an object before (empty: it did not exist) and now. Questions that are
  // asked after this returns see the difference.
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

  // Every node that some object belongs to, in order, and the graph it was read from. Waits for a
  // running change, and costs the number of nodes: for questions about all nodes, not for
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
