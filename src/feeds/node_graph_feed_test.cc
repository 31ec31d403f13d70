#include "feeds/node_graph_feed.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "base/clock.h"
#include "json/parse.h"
#include "json/print.h"
#include "store/testing/memory_store.h"

namespace cardea::feeds {
namespace {

using namespace authz::node;
using json::Value;

class FixedRandom : public Random {
 public:
  std::uint64_t next() override { return 7; }
};

// Small worlds, so that objects are often shared, bound, moved and deleted.
class RandomWorld {
 public:
  explicit RandomWorld(int seed) : random_(seed) {}

  std::pair<std::string, Value> next() {
    switch (random_() % 6) {
      case 0:
        return volume();
      case 1:
        return simple("volumeattachments", "");
      case 2:
        return simple("resourceslices", "");
      default:
        return some_pod();
    }
  }
  bool one_in(int n) { return random_() % n == 0; }
  std::string name(const char* kind, int n) { return kind + std::to_string(random_() % n); }

 private:
  Value reference(const char* key, std::string name) { return Value::object({{key, name}}); }

  std::pair<std::string, Value> some_pod() {
    std::string ns = name("ns", 2), called = name("pod", 8);
    Value meta = Value::object({{"name", called}, {"namespace", ns}});
    if (one_in(8)) meta.set("annotations", Value::object({{"kubernetes.io/config.mirror", "x"}}));
    Value spec = Value::object({{"serviceAccountName", name("sa", 2)}}), status = Value::object();
    if (!one_in(5)) spec.set("nodeName", name("n", 3));
    Value volumes = Value::array();
    for (int i = random_() % 4; i > 0; --i) {
      if (one_in(2))
        volumes.push_back(Value::object(
            {{"name", "v"}, {"persistentVolumeClaim", reference("claimName", name("claim", 3))}}));
      else if (one_in(3))
        volumes.push_back(Value::object({{"name", "v"}, {"ephemeral", Value::object()}}));
      else
        volumes.push_back(
            Value::object({{"name", "v"}, {"secret", reference("secretName", name("secret", 3))}}));
    }
    spec.set("volumes", volumes);
    spec.set("resourceClaims",
             Value::array({Value::object({{"name", "r"}, {"resourceClaimTemplateName", "t"}})}));
    if (one_in(2))
      status.set(
          "resourceClaimStatuses",
          Value::array({Value::object({{"name", "r"}, {"resourceClaimName", name("rc", 3)}})}));
    return {"/registry/pods/" + ns + "/" + called,
            Value::object({{"metadata", meta}, {"spec", spec}, {"status", status}})};
  }

  std::pair<std::string, Value> volume() {
    std::string called = name("pv", 4);
    Value spec = Value::object(
        {{"flexVolume", Value::object({{"secretRef", reference("name", name("secret", 3))}})}});
    if (!one_in(4))
      spec.set("claimRef",
               Value::object({{"namespace", name("ns", 2)},
                              {"name", one_in(4) ? name("pod", 8) + "-v" : name("claim", 3)}}));
    return {"/registry/persistentvolumes/" + called,
            Value::object({{"metadata", reference("name", called)}, {"spec", spec}})};
  }

  std::pair<std::string, Value> simple(const char* resource, const char*) {
    std::string called = name("x", 3);
    Value spec = Value::object();
    if (!one_in(4)) spec.set("nodeName", name("n", 3));
    return {std::string("/registry/") + resource + "/" + called,
            Value::object({{"metadata", reference("name", called)}, {"spec", spec}})};
  }

  std::mt19937 random_;
};

// The graph of the specification: edges, and a walk along them.
class NaiveGraph {
 public:
  void add(const std::string& key, const Value& object) {
    if (key.starts_with("/registry/persistentvolumes/")) {
      Binding b = binding_of(object);
      for (std::size_t i = 0; i < b.objects.size(); ++i)
        edges_[b.objects[i]].insert(i == 0 ? Vertex{Kind::kClaim, b.claim_namespace, b.claim_name}
                                           : b.objects[0]);
      return;
    }
    Kind kind = key.starts_with("/registry/pods/")             ? Kind::kPod
                : key.starts_with("/registry/resourceslices/") ? Kind::kResourceSlice
                                                               : Kind::kVolumeAttachment;
    Placement p = kind == Kind::kPod ? placement_of_pod(object) : placement_of(kind, object);
    if (p.node.empty()) return;
    const Value& meta = object["metadata"];
    Vertex self{kind, std::string(meta["namespace"].as_string()),
                std::string(meta["name"].as_string())};
    for (const Vertex& v : p.objects)
      edges_[v].insert(v == self ? Vertex{Kind::kNode, "", p.node} : self);
  }
  bool leads_to(const Vertex& from, const Vertex& node) const {
    if (from == node) return true;
    auto at = edges_.find(from);
    if (at == edges_.end()) return false;
    for (const Vertex& to : at->second)
      if (leads_to(to, node)) return true;
    return false;
  }
  const std::map<Vertex, std::set<Vertex>>& edges() const { return edges_; }

 private:
  std::map<Vertex, std::set<Vertex>> edges_;
};

void expect_same(const Graph& graph, const std::map<std::string, Value>& world) {
  FixedRandom random;
  Graph rebuilt(random);
  NaiveGraph naive;
  for (const auto& [key, object] : world) {
    naive.add(key, object);
    if (key.starts_with("/registry/persistentvolumes/"))
      rebuilt.change({}, binding_of(object));
    else if (key.starts_with("/registry/pods/"))
      rebuilt.change({}, placement_of_pod(object));
    else
      rebuilt.change(
          {}, placement_of(key.starts_with("/registry/resourceslices/") ? Kind::kResourceSlice
                                                                        : Kind::kVolumeAttachment,
                           object));
  }
  ASSERT_EQ(graph.content(), rebuilt.content());
  for (const auto& [vertex, to] : naive.edges())
    for (const char* node : {"n0", "n1", "n2"})
      ASSERT_EQ(graph.leads_to(vertex.kind, vertex.namespace_name, vertex.name, node),
                naive.leads_to(vertex, {Kind::kNode, "", node}))
          << static_cast<int>(vertex.kind) << " " << vertex.namespace_name << "/" << vertex.name
          << " " << node;
}

TEST(NodeGraphFeed, IsAfterRandomChangesTheSameAsOneBuiltFromScratchAndAsTheOneThatIsWalked) {
  SystemClock clock;
  for (int seed = 0; seed < 30; ++seed) {
    RandomWorld random(seed);
    auto store = store::make_memory_store(clock);
    FixedRandom secret;
    Graph graph(secret);
    std::unique_ptr<NodeGraphFeed> feed;
    std::map<std::string, Value> world;
    for (int i = 0; i < 150; ++i) {
      // Some objects exist before the graph is made.
      if (i == 40) feed = std::move(*NodeGraphFeed::start(*store, graph));
      auto [key, object] = random.next();
      store::Txn txn;
      if (random.one_in(3)) {
        txn.ops.push_back(store::Delete{key});
        world.erase(key);
      } else {
        txn.ops.push_back(store::Put{key, json::print(object)});
        world[key] = object;
      }
      ASSERT_TRUE(store::commit_sync(*store, std::move(txn)));
      if (feed && i % 10 == 0) expect_same(graph, world);
    }
  }
}

}  // namespace
}  // namespace cardea::feeds
