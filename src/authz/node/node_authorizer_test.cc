#include "authz/node/node_authorizer.h"

#include <gtest/gtest.h>

#include <random>

#include "base/clock.h"
#include "json/parse.h"

namespace cardea::authz::node {
namespace {

using json::Value;

class FixedRandom : public Random {
 public:
  std::uint64_t next() override { return 7; }
};

Value pod(std::string_view text) {
  return *json::parse(text);
}

const User kNode{.name = "system:node:n1", .groups = {"system:nodes"}};

Attributes question(const User& user, const char* verb, const char* resource, const char* ns,
                    const char* name) {
  Attributes a(user);
  a.is_resource_request = true;
  a.verb = verb;
  a.resource = resource;
  a.namespace_name = ns;
  a.name = name;
  return a;
}

Decision ask(const Graph& graph, const User& user, const char* verb, const char* resource,
             const char* ns, const char* name) {
  return *NodeAuthorizer(graph).authorize(question(user, verb, resource, ns, name));
}

TEST(NodeAuthorizer, HasNoOpinionOfThoseWhoAreNoNodes) {
  FixedRandom random;
  Graph graph(random);
  for (const User& user :
       {User{.name = "system:node:n1"}, User{.name = "jane", .groups = {"system:nodes"}}}) {
    Decision d = ask(graph, user, "get", "nodes", "", "n1");
    EXPECT_EQ(d.kind, Decision::Kind::kNoOpinion);
    EXPECT_TRUE(d.reason.empty());
  }
}

TEST(NodeAuthorizer, ANodeWithoutANameIsUnknown) {
  FixedRandom random;
  Graph graph(random);
  Decision d = ask(graph, User{.name = "system:node:", .groups = {"system:nodes"}}, "get", "nodes",
                   "", "");
  EXPECT_EQ(d.kind, Decision::Kind::kNoOpinion);
  EXPECT_EQ(d.reason.text(), "unknown node for user \"system:node:\"");
}

TEST(NodeAuthorizer, ASecretOfAPodIsReadableWhileThePodIsThere) {
  FixedRandom random;
  Graph graph(random);
  Placement p = placement_of_pod(pod(
      R"({"metadata": {"name": "p", "namespace": "a"},
          "spec": {"nodeName": "n1", "volumes": [{"secret": {"secretName": "s"}}]}})"));
  EXPECT_FALSE(ask(graph, kNode, "get", "secrets", "a", "s").allowed());
  graph.change({}, p);
  EXPECT_TRUE(ask(graph, kNode, "get", "secrets", "a", "s").allowed());
  EXPECT_FALSE(ask(graph, kNode, "get", "secrets", "b", "s").allowed());
  EXPECT_FALSE(ask(graph, kNode, "get", "configmaps", "a", "s").allowed());
  graph.change(p, {});
  EXPECT_FALSE(ask(graph, kNode, "get", "secrets", "a", "s").allowed());
  EXPECT_TRUE(graph.content().empty());
}

TEST(NodeAuthorizer, AMirrorPodGivesItsNodeNothingButItself) {
  FixedRandom random;
  Graph graph(random);
  graph.change({}, placement_of_pod(pod(
                       R"({"metadata":{"name":"p","namespace":"a",
      "annotations":{"kubernetes.io/config.mirror":""}},
      "spec":{"nodeName":"n1","serviceAccountName":"sa",
        "volumes":[{"secret":{"secretName":"s"}}]}})")));
  EXPECT_TRUE(ask(graph, kNode, "get", "pods", "a", "p").allowed());
  EXPECT_FALSE(ask(graph, kNode, "get", "secrets", "a", "s").allowed());
  EXPECT_FALSE(ask(graph, kNode, "get", "serviceaccounts", "a", "sa").allowed());
}

TEST(NodeAuthorizer, OnlyTheSecretsOfAVolumeThatKubeletsReadAreReadable) {
  Binding b = binding_of(
      pod(R"({"metadata":{"name":"v"},"spec":{"claimRef":{"namespace":"a","name":"c"},
      "csi":{"nodeStageSecretRef":{"namespace":"k","name":"stage"},
        "controllerPublishSecretRef":{"namespace":"k","name":"controller"}}}})"));
  ASSERT_EQ(b.objects.size(), 2u);
  EXPECT_EQ(b.objects[0], (Vertex{Kind::kVolume, "", "v"}));
  EXPECT_EQ(b.objects[1], (Vertex{Kind::kSecret, "k", "stage"}));
}

std::vector<std::string> who_can(const Authorizer& authorizer, const Attributes& a) {
  AllowedSubjects allowed;
  authorizer.add_allowed(a, allowed);
  EXPECT_FALSE(allowed.incomplete);
  std::vector<std::string> out;
  for (const AllowedSubject& s : allowed.subjects) out.push_back(s.kind + " " + s.name);
  return out;
}

TEST(NodeAuthorizer, NamesTheNodesThatAnObjectLeadsTo) {
  FixedRandom random;
  Graph graph(random);
  NodeAuthorizer authorizer(graph);
  auto place = [](const char* name, const char* node) {
    return placement_of_pod(pod(std::string(R"({"metadata":{"name":")") + name +
                                R"(","namespace":"a"},"spec":{"nodeName":")" + node +
                                R"(","volumes":[{"secret":{"secretName":"s"}}]}})"));
  };
  Placement on_n2 = place("q", "n2");
  graph.change({}, on_n2);
  graph.change({}, place("p", "n1"));
  graph.change({}, place("r", "n1"));
  User nobody;
  EXPECT_EQ(who_can(authorizer, question(nobody, "get", "secrets", "a", "s")),
            (std::vector<std::string>{"User system:node:n1", "User system:node:n2"}));
  EXPECT_EQ(who_can(authorizer, question(nobody, "get", "pods", "a", "q")),
            (std::vector<std::string>{"User system:node:n2"}));
  EXPECT_TRUE(who_can(authorizer, question(nobody, "get", "secrets", "a", "other")).empty());
  EXPECT_TRUE(who_can(authorizer, question(nobody, "list", "secrets", "a", "")).empty());
  EXPECT_TRUE(who_can(authorizer, question(nobody, "delete", "secrets", "a", "s")).empty());
  graph.change(on_n2, {});
  EXPECT_EQ(who_can(authorizer, question(nobody, "get", "secrets", "a", "s")),
            (std::vector<std::string>{"User system:node:n1"}));
}

TEST(NodeAuthorizer, NamesTheNodeThatAQuestionSpeaksOfAndTheGroupWhereAnyNodeMay) {
  FixedRandom random;
  Graph graph(random);
  NodeAuthorizer authorizer(graph);
  User nobody;
  EXPECT_EQ(who_can(authorizer, question(nobody, "get", "nodes", "", "n7")),
            (std::vector<std::string>{"User system:node:n7"}));
  EXPECT_TRUE(who_can(authorizer, question(nobody, "list", "nodes", "", "")).empty());
  EXPECT_EQ(who_can(authorizer, question(nobody, "list", "services", "a", "")),
            (std::vector<std::string>{"Group system:nodes"}));
  Selectors selectors;
  selectors.fields = *json::FieldSelector::parse("spec.nodeName=n3");
  Attributes pods = question(nobody, "list", "pods", "", "");
  pods.selectors = &selectors;
  EXPECT_EQ(who_can(authorizer, pods), (std::vector<std::string>{"User system:node:n3"}));
  Attributes path(nobody);
  path.verb = "get";
  path.path = "/metrics";
  EXPECT_TRUE(who_can(authorizer, path).empty());
}

TEST(NodeAuthorizer, AFrozenOneDecidesByTheGraphAsItWas) {
  FixedRandom random;
  Graph graph(random);
  NodeAuthorizer authorizer(graph);
  Placement p = placement_of_pod(pod(
      R"({"metadata": {"name": "p", "namespace": "a"},
          "spec": {"nodeName": "n1", "volumes": [{"secret": {"secretName": "s"}}]}})"));
  Attributes a = question(kNode, "get", "secrets", "a", "s");
  auto before = authorizer.frozen();
  graph.change({}, p);
  auto after = authorizer.frozen();
  graph.change(p, {});
  for (int i = 0; i < 3; ++i) {  // in turns: each has its own state
    EXPECT_FALSE(before->authorize(a)->allowed());
    EXPECT_TRUE(after->authorize(a)->allowed());
    EXPECT_FALSE(authorizer.authorize(a)->allowed());
  }
  EXPECT_EQ(after->name(), "node");
}

TEST(LinkHash, SplittingATextElsewhereMakesAnotherKey) {
  LinkHash hash(1, 2);
  EXPECT_NE(hash(1, "ab", "c", "d"), hash(1, "a", "bc", "d"));
  EXPECT_NE(hash(1, "ab", "c", "d"), hash(1, "ab", "cd", ""));
  EXPECT_NE(hash(1, "ab", "c", "d"), hash(2, "ab", "c", "d"));
  EXPECT_NE(hash(1, "ab", "c", "d"), LinkHash(1, 3)(1, "ab", "c", "d"));
}

TEST(LinkSet, HoldsWhatWasAddedAndNotRemovedAndCopiesNeverChange) {
  std::mt19937_64 random(3);
  LinkSet set;
  std::map<LinkKey, std::uint32_t> plain;
  std::vector<std::pair<LinkSet, std::map<LinkKey, std::uint32_t>>> copies;
  for (int i = 0; i < 20000; ++i) {
    // Keys that are equal in most of their bits make deep paths.
    LinkKey key{random() % 64 == 0 ? random() : random() % 3, random() % 500 << 50};
    if (random() % 3 && plain[key] < 5) {
      set.add(key);
      ++plain[key];
    } else {
      set.remove(key);
      if (plain[key] > 0) --plain[key];
    }
    if (plain[key] == 0) plain.erase(key);
    if (i % 1000 == 0) copies.emplace_back(set, plain);
  }
  copies.emplace_back(set, plain);
  for (const auto& [copy, expected] : copies) {
    std::map<LinkKey, std::uint32_t> held;
    copy.for_each([&](LinkKey key, std::uint32_t count) { held[key] = count; });
    EXPECT_EQ(held, expected);
    for (const auto& [key, count] : expected) EXPECT_EQ(copy.count(key), count);
  }
}

}  // namespace
}  // namespace cardea::authz::node
