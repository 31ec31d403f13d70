// The conditions of the Node authorizer and the plugin NodeRestriction: two forms of the same
// rules.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "admission/plugins.h"
#include "authz/node/node_authorizer.h"
#include "base/clock.h"
#include "base/strings.h"
#include "json/parse.h"
#include "json/print.h"
#include "store/testing/memory_store.h"

namespace cardea::admission {
namespace {

using authz::Decision;
using json::Value;

Value parsed(std::string_view text) {
  return json::parse(text).value();
}

// One write of a node.
struct NodeWrite {
  std::string group, resource, subresource, verb, namespace_name, name;  // of the request
  Operation operation = Operation::kCreate;
  Value object = {}, old = {};
  std::string node = "n1";
};

// Writes that are near to what is allowed: most differ from it in few places.
class RandomWrites {
 public:
  explicit RandomWrites(std::uint64_t seed) : random_(seed) {}
  NodeWrite next();

 private:
  bool one_in(int n) { return std::uniform_int_distribution<int>(1, n)(random_) == 1; }
  template <typename List>
  const auto& pick(const List& list) {
    return list[std::uniform_int_distribution<std::size_t>(0, std::size(list) - 1)(random_)];
  }
  std::string some_node() {
    static const std::string kNames[] = {"n1", "n1", "n1", "n1", "n1", "n1", "n2", "", "n11"};
    return pick(kNames);
  }
  std::string some_label() {
    static const std::string kKeys[] = {"team",
                                        "kubernetes.io/hostname",
                                        "kubernetes.io/os",
                                        "kubernetes.io/other",
                                        "x.kubernetes.io/y",
                                        "notkubernetes.io/y",
                                        "k8s.io/z",
                                        "a.k8s.io/z",
                                        "node-restriction.kubernetes.io/a",
                                        "b.node-restriction.kubernetes.io/a",
                                        "anode-restriction.kubernetes.io/a",
                                        "kubelet.kubernetes.io/a",
                                        "c.node.kubernetes.io/a",
                                        "node.kubernetes.io/instance-type",
                                        "example.com/kubernetes.io",
                                        "node-role.kubernetes.io/control-plane",
                                        "topology.kubernetes.io/zone"};
    return pick(kKeys);
  }
  Value some_labels() {
    Value out = Value::object();
    for (int i = std::uniform_int_distribution<int>(0, 2)(random_); i > 0; --i)
      out.set(some_label(), one_in(2) ? "1" : "2");
    return out;
  }
  void set_maybe(Value& object, std::string_view key, Value value, int one_of) {
    if (one_in(one_of)) object.set(key, std::move(value));
  }

  Value a_node(const std::string& name) {
    Value meta = Value::object({{"name", name}}), spec = Value::object();
    set_maybe(meta, "labels", some_labels(), 2);
    set_maybe(meta, "ownerReferences", parsed(R"([{"name":"o"}])"), 8);
    set_maybe(meta, "ownerReferences", Value::array(), 12);
    set_maybe(spec, "taints", parsed(R"([{"key":"t","effect":"NoSchedule"}])"), 4);
    set_maybe(spec, "taints", Value::array(), 8);
    set_maybe(spec, "configSource", parsed(one_in(2) ? R"({"a":1})" : R"({"a":2})"), 8);
    Value out = Value::object({{"metadata", std::move(meta)}});
    if (!one_in(10)) out.set("spec", std::move(spec));
    return out;
  }
  NodeWrite node() {
    static const std::string kVerbs[] = {"create", "update", "patch"};
    NodeWrite w{.group = "",
                .resource = "nodes",
                .subresource = one_in(3) ? "status" : "",
                .verb = pick(kVerbs),
                .namespace_name = "",
                .name = some_node()};
    if (w.name.empty()) w.name = "n3";
    if (w.subresource == "status") w.verb = one_in(2) ? "update" : "patch";
    w.object = a_node(w.name);
    const bool makes_one = w.verb == "create" || (w.subresource.empty() && one_in(6));
    w.operation = makes_one ? Operation::kCreate : Operation::kUpdate;
    if (!makes_one) {
      w.old = one_in(2) ? w.object : a_node(w.name);
      if (one_in(3)) w.object.member("metadata").set("labels", some_labels());
    }
    if (w.verb == "create") w.name = "";
    return w;
  }

  Value volume() {
    static const std::string_view kSources[] = {
        R"({"emptyDir":{}})",
        R"({"hostPath":{"path":"/"}})",
        R"({"downwardAPI":{}})",
        R"({"image":{}})",
        R"({"nfs":{"path":"/"}})",
        R"({"hostPath":{"path":"/a"}})",
        R"({"secret":{"secretName":"s"}})",
        R"({"secret":{}})",
        R"({"configMap":{"name":"c"}})",
        R"({"persistentVolumeClaim":{"claimName":"c"}})",
        R"({"ephemeral":{}})",
        R"({"csi":{"driver":"d"}})",
        R"({"glusterfs":{"endpoints":"e"}})",
        R"({"azureFile":{"secretName":"s"}})",
        R"({"rbd":{"secretRef":{"name":"s"}}})",
        R"({"rbd":{"secretRef":{}}})",
        R"({"cephfs":{}})",
        R"({"cinder":{"secretRef":{"name":"x"}}})",
        R"({"projected":{"sources":[{"downwardAPI":{}}]}})",
        R"({"projected":{"sources":[{"downwardAPI":{}},{"secret":{"name":"s"}}]}})",
        R"({"projected":{"sources":[{"serviceAccountToken":{}}]}})",
        R"({"projected":{"sources":[{}]}})",
        R"({"projected":{}})",
        R"({"projected":{"sources":[{"clusterTrustBundle":{}}]}})",
        R"({"unheardOf":{}})",
        "{}"};
    Value out = parsed(
        kSources[one_in(2) ? std::uniform_int_distribution<std::size_t>(0, 5)(random_)
                           : std::uniform_int_distribution<std::size_t>(
                                 0, std::size(kSources) - 1)(random_)]);
    out.set("name", "v");
    return out;
  }
  Value container() {
    static const std::string_view kParts[] = {
        "{}",
        "{}",
        "{}",
        R"({"env":[{"name":"A","value":"1"}]})",
        R"({"env":[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"p"}}}]})",
        R"({"env":[{"name":"A","valueFrom":{"secretKeyRef":{"name":"s"}}}]})",
        R"({"env":[{"name":"A","valueFrom":{"secretKeyRef":{"name":""}}}]})",
        R"({"env":[{"name":"A","valueFrom":{"configMapKeyRef":{"name":"c"}}}]})",
        R"({"envFrom":[{"secretRef":{"name":"s"}}]})",
        R"({"envFrom":[{"prefix":"p"},{"configMapRef":{"name":"c"}}]})",
        R"({"envFrom":[{"configMapRef":{}}]})"};
    return parsed(one_in(2) ? "{}" : pick(kParts));
  }
  NodeWrite mirror_pod() {
    NodeWrite w{.group = "",
                .resource = "pods",
                .subresource = "",
                .verb = "create",
                .namespace_name = "ns",
                .name = ""};
    Value meta = Value::object({{"name", "m"}}), spec = Value::object();
    if (!one_in(12)) meta.set("annotations", parsed(R"({"kubernetes.io/config.mirror":"x"})"));
    if (one_in(30)) meta.set("annotations", parsed(R"({"other":"x"})"));
    Value owner = parsed(R"({"apiVersion":"v1","kind":"Node","name":"n1","uid":"u1",)"
                         R"("controller":true})");
    set_maybe(owner, "uid", "u2", 15);
    set_maybe(owner, "name", "n2", 15);
    set_maybe(owner, "kind", "Pod", 20);
    set_maybe(owner, "apiVersion", "v2", 20);
    set_maybe(owner, "controller", false, 15);
    set_maybe(owner, "blockOwnerDeletion", one_in(2), 8);
    if (one_in(25)) owner.erase("controller");
    if (one_in(25)) owner.erase("uid");
    Value owners = Value::array({owner});
    if (one_in(20)) owners.push_back(owner);
    if (one_in(20)) owners = Value::array();
    if (!one_in(25)) meta.set("ownerReferences", std::move(owners));
    if (std::string on = some_node(); !on.empty()) spec.set("nodeName", on);
    set_maybe(spec, "serviceAccountName", "sa", 15);
    set_maybe(spec, "serviceAccountName", "", 15);
    set_maybe(spec, "imagePullSecrets", parsed(R"([{"name":"s"}])"), 20);
    set_maybe(spec, "imagePullSecrets", parsed(R"([{}])"), 20);
    set_maybe(spec, "resourceClaims", parsed(R"([{"name":"r"}])"), 20);
    set_maybe(spec, "resourceClaims", Value::array(), 20);
    for (const char* list : {"containers", "initContainers", "ephemeralContainers"})
      if (one_in(2)) spec.set(list, Value::array({container()}));
    if (one_in(2)) spec.set("volumes", Value::array({volume()}));
    if (one_in(6)) spec.set("volumes", Value::array({volume(), volume()}));
    w.object = Value::object({{"metadata", std::move(meta)}, {"spec", std::move(spec)}});
    return w;
  }

  Value a_pod() {
    Value spec = Value::object();
    if (std::string on = some_node(); !on.empty()) spec.set("nodeName", on);
    return Value::object({{"metadata", Value::object({{"name", "p"}})}, {"spec", spec}});
  }
  NodeWrite pod_end() {
    NodeWrite w{.group = "",
                .resource = "pods",
                .subresource = one_in(2) ? "eviction" : "",
                .verb = "delete",
                .namespace_name = "ns",
                .name = "p"};
    w.operation = Operation::kDelete;
    w.old = a_pod();
    if (w.subresource.empty()) return w;
    static const std::string kStored[] = {"own", "other", "unplaced", "missing"};
    w.name = pick(kStored);
    w.verb = "create";
    w.operation = Operation::kCreate;
    w.old = Value();
    // What the body says of itself counts for nothing.
    w.object = parsed(R"({"metadata":{"name":"x"},"spec":{"nodeName":"n1"}})");
    return w;
  }
  NodeWrite pod_status() {
    NodeWrite w{.group = "",
                .resource = "pods",
                .subresource = "status",
                .verb = one_in(2) ? "update" : "patch",
                .namespace_name = "ns",
                .name = "p"};
    w.operation = Operation::kUpdate;
    auto vary = [&](Value& pod) {
      set_maybe(pod.member("metadata"), "labels", some_labels(), 6);
      set_maybe(pod.member("metadata"), "labels", Value::object(), 8);
      set_maybe(pod.member("status"), "phase", "Running", 2);
      set_maybe(pod.member("status"), "resourceClaimStatuses", parsed(R"([{"name":"c"}])"), 8);
      set_maybe(pod.member("status"), "resourceClaimStatuses", Value::array(), 8);
      set_maybe(pod.member("status"), "extendedResourceClaimStatus",
                parsed(R"({"resourceClaimName":"c"})"), 8);
      set_maybe(pod.member("spec"), "nodeName", "n1", 20);
    };
    w.old = a_pod();
    vary(w.old);
    w.object = w.old;
    vary(w.object);
    return w;
  }
  NodeWrite claim() {
    NodeWrite w{.group = "",
                .resource = "persistentvolumeclaims",
                .subresource = one_in(12) ? "" : "status",
                .verb = one_in(2) ? "update" : "patch",
                .namespace_name = "ns",
                .name = "c"};
    w.operation = Operation::kUpdate;
    w.old = parsed(R"({"metadata":{"name":"c","uid":"1"},"spec":{"volumeName":"v"}})");
    set_maybe(w.old, "status", parsed(R"({"phase":"Bound","capacity":{"storage":"1"}})"), 2);
    w.object = w.old;
    Value& meta = w.object.member("metadata");
    set_maybe(meta, "resourceVersion", "7", 2);
    set_maybe(meta, "managedFields", parsed(R"([{"manager":"m"}])"), 3);
    set_maybe(meta, "labels", parsed(R"({"a":"b"})"), 8);
    if (one_in(15)) meta.erase("uid");
    set_maybe(w.object.member("spec"), "volumeName", "w", 8);
    set_maybe(w.object.member("spec"), "storageClassName", "s", 12);
    if (one_in(20)) w.object.erase("spec");
    if (one_in(2)) return w;
    Value& status = w.object.member("status");
    set_maybe(status, "capacity", parsed(R"({"storage":"2"})"), 2);
    set_maybe(status, "conditions", parsed(R"([{"type":"Resizing"}])"), 2);
    set_maybe(status, "allocatedResources", parsed(R"({"storage":"2"})"), 4);
    set_maybe(status, "allocatedResourceStatuses", parsed(R"({"storage":"x"})"), 4);
    set_maybe(status, "phase", "Lost", 8);
    if (one_in(15)) status.erase("phase");
    if (one_in(20)) w.object.erase("status");
    return w;
  }
  // Leases and CSINodes.
  NodeWrite named() {
    static const std::string kVerbs[] = {"create", "update", "patch", "delete"};
    const bool is_lease = one_in(2);
    NodeWrite w{.group = is_lease ? "coordination.k8s.io" : "storage.k8s.io",
                .resource = is_lease ? "leases" : "csinodes",
                .subresource = "",
                .verb = pick(kVerbs),
                .namespace_name = !is_lease   ? ""
                                  : one_in(8) ? "ns"
                                              : "kube-node-lease",
                .name = some_node()};
    if (w.name.empty()) w.name = "n3";
    w.object = Value::object({{"metadata", Value::object({{"name", w.name}})}});
    if (w.verb == "create") {
      w.name = "";
      if (one_in(10)) w.object.member("metadata").erase("name");
      return w;
    }
    w.old = w.object;
    w.operation = w.verb == "delete" ? Operation::kDelete
                  : one_in(4)        ? Operation::kCreate
                                     : Operation::kUpdate;
    return w;
  }
  NodeWrite slice() {
    static const std::string kVerbs[] = {"create", "update", "patch", "delete"};
    NodeWrite w{.group = "resource.k8s.io",
                .resource = "resourceslices",
                .subresource = "",
                .verb = pick(kVerbs),
                .namespace_name = "",
                .name = "s"};
    auto made = [&] {
      Value out = parsed(R"({"metadata":{"name":"s"}})");
      if (std::string on = some_node(); !on.empty()) out.member("spec").set("nodeName", on);
      return out;
    };
    w.object = made();
    w.operation = w.verb == "create"   ? Operation::kCreate
                  : w.verb == "delete" ? Operation::kDelete
                                       : Operation::kUpdate;
    if (w.verb == "create")
      w.name = "";
    else
      w.old = made();
    if (w.verb == "delete") w.object = Value();
    return w;
  }

  std::mt19937_64 random_;
};

NodeWrite RandomWrites::next() {
  using Maker = NodeWrite (RandomWrites::*)();
  static constexpr Maker kMakers[] = {
      &RandomWrites::node,       &RandomWrites::node,    &RandomWrites::mirror_pod,
      &RandomWrites::mirror_pod, &RandomWrites::pod_end, &RandomWrites::pod_status,
      &RandomWrites::claim,      &RandomWrites::named,   &RandomWrites::slice};
  NodeWrite out = (this->*pick(kMakers))();
  if (one_in(40)) out.node = "n2";  // has no Node object
  // As a decoded object is.
  for (Value* object : {&out.object, &out.old})
    if (object->has("status") && (*object)["status"].is_null()) object->erase("status");
  return out;
}

class NodeConditions : public ::testing::Test {
 protected:
  NodeConditions() {
    put("minions/n1", R"({"metadata":{"name":"n1","uid":"u1"}})");
    put("pods/ns/own", R"({"metadata":{"name":"own"},"spec":{"nodeName":"n1"}})");
    put("pods/ns/other", R"({"metadata":{"name":"other"},"spec":{"nodeName":"n9"}})");
    put("pods/ns/unplaced", R"({"metadata":{"name":"unplaced"},"spec":{}})");
    using authz::node::Kind;
    for (const char* node : {"n1", "n2"})
      graph_.change({}, {.node = node,
                         .objects = {{Kind::kPod, "ns", "p"},
                                     {Kind::kClaim, "ns", "c"},
                                     {Kind::kResourceSlice, "", "s"}}});
  }
  void put(std::string_view key, std::string_view text) {
    ASSERT_TRUE(
        store::commit_sync(*store_, {{}, {store::Put{cat("/registry/", key), std::string(text)}}}));
  }
  static std::string uid_of(const void*, std::string_view node) { return node == "n1" ? "u1" : ""; }

  authz::User user(const NodeWrite& w) const {
    return {.name = cat("system:node:", w.node), .groups = {"system:nodes"}};
  }
  std::string name_for_admission(const NodeWrite& w) const {
    return w.name.empty() ? std::string(w.object["metadata"]["name"].as_string()) : w.name;
  }
  // Empty: the plugin admits it.
  std::string refused_by_plugin(const NodeWrite& w) {
    const authz::User who = user(w);
    const std::string name = name_for_admission(w);
    Review review{.operation = w.operation,
                  .catalog = *catalog_,
                  .resource = *resource(w),
                  .subresource = w.subresource,
                  .namespace_name = w.namespace_name,
                  .name = name,
                  .user = who,
                  .object = w.object,
                  .old_object = w.old.is_null() ? nullptr : &w.old};
    Result<void> done;
    spawn(plugin_->mutate(review), [&](Result<void> r) { done = std::move(r); });
    return done ? "" : done.error().message;
  }
  const catalog::Resource* resource(const NodeWrite& w) const {
    return catalog_->find(w.group, "v1", w.resource);
  }
  Decision asked(const authz::node::NodeAuthorizer& by, const NodeWrite& w, std::string_view verb) {
    const authz::User who = user(w);
    authz::Attributes a(who);
    a.is_resource_request = true;
    a.verb = verb;
    a.api_group = w.group;
    a.api_version = "v1";
    a.resource = w.resource;
    a.subresource = w.subresource;
    a.namespace_name = w.namespace_name;
    a.name = w.name;
    Decision decision = *by.authorize(a);
    if (decision.kind != Decision::Kind::kConditional) return decision;
    // As rest shows it: the pod behind an Eviction.
    Value old = w.old;
    if (w.subresource == "eviction")
      if (store::RecordPtr pod = store_->get(cat("/registry/pods/ns/", w.name)))
        old = admission::parsed(*pod);
    const authz::ConditionData data{.operation = operation_name(w.operation),
                                    .object = &w.object,
                                    .old_object = old.is_null() ? nullptr : &old,
                                    .name = w.name,
                                    .user = &who};
    ++settled_;
    Decision out;
    spawn(by.evaluate(decision.conditions, data), [&](Decision d) { out = std::move(d); });
    return out;
  }
  bool allowed(const authz::node::NodeAuthorizer& by, const NodeWrite& w) {
    if (!asked(by, w, w.verb).allowed()) return false;
    // Whoever makes an object by changing it needs both.
    return w.operation != Operation::kCreate || w.verb == "create" ||
           asked(by, w, "create").allowed();
  }

  static constexpr authz::node::Features kFeatures{};
  SystemClock clock_;
  SystemRandom chance_;
  std::unique_ptr<store::Store> store_ = store::make_memory_store(clock_);
  std::shared_ptr<const catalog::Catalog> catalog_ = catalog::Catalog::builtin();
  authz::CurrentChain chain_{std::make_shared<const authz::Chain>(
      std::vector<std::shared_ptr<const authz::Authorizer>>())};
  std::unique_ptr<Plugin> plugin_ = node_restriction(Objects(*store_), chain_,
                                                     KeepsKubelets::kAlways);
  authz::node::Graph graph_{chance_};
  authz::node::NodeAuthorizer plain_{graph_, kFeatures};
  authz::node::NodeAuthorizer conditional_{graph_, kFeatures,
                                           authz::node::WriteConditions(uid_of, nullptr)};
  int settled_ = 0;
};

// CARDEA_NODE_WRITES=1000000 makes a long run.
TEST_F(NodeConditions, DecideAsThePluginDoes) {
  const char* wanted = std::getenv("CARDEA_NODE_WRITES");
  const int writes = wanted ? std::atoi(wanted) : 30'000;
  RandomWrites random(20);
  int allowed_both = 0, refused_both = 0;
  for (int i = 0; i < writes; ++i) {
    const NodeWrite w = random.next();
    const std::string refusal = refused_by_plugin(w);
    const bool expected = allowed(plain_, w) && refusal.empty();
    ASSERT_EQ(allowed(conditional_, w), expected)
        << w.verb << " " << w.resource << "/" << w.subresource << " " << w.name << " "
        << operation_name(w.operation) << "\nnew " << json::print(w.object) << "\nold "
        << json::print(w.old) << "\nplugin: " << refusal;
    ++(expected ? allowed_both : refused_both);
  }
  // Both answers are common, and the object decided often.
  EXPECT_GT(allowed_both, writes / 10);
  EXPECT_GT(refused_both, writes / 10);
  EXPECT_GT(settled_, writes / 2);
  std::printf("%d writes: %d allowed, %d refused, %d conditions settled\n", writes, allowed_both,
              refused_both, settled_);
}

TEST_F(NodeConditions, AnErrorIsNeverAnAllow) {
  // Objects of shapes that no schema has.
  for (const char* object :
       {"null", "1", "[]", R"({"metadata":1,"spec":2})",
        R"({"metadata":{"labels":[1],"annotations":1},"spec":{"nodeName":{}}})"})
    for (const char* verb : {"create", "update", "delete"}) {
      NodeWrite w{.group = "",
                  .resource = "nodes",
                  .subresource = "",
                  .verb = verb,
                  .namespace_name = "",
                  .name = "",
                  .object = parsed(object)};
      for (const char* resource : {"nodes", "pods"}) {
        w.resource = resource;
        EXPECT_FALSE(asked(conditional_, w, verb).allowed()) << verb << resource << object;
      }
    }
}

TEST_F(NodeConditions, AreReadable) {
  const authz::User who{.name = "system:node:n1", .groups = {"system:nodes"}};
  authz::Attributes a(who);
  a.is_resource_request = true;
  a.verb = "delete";
  a.api_version = "v1";
  a.resource = "pods";
  a.namespace_name = "ns";
  a.name = "p";
  const Decision decision = *conditional_.authorize(a);
  ASSERT_EQ(decision.kind, Decision::Kind::kConditional);
  const authz::Condition& c = decision.conditions->set()->conditions.at(0);
  EXPECT_EQ(c.shown_text(), R"(oldObject.?spec.?nodeName.orValue("") == "n1")");
  EXPECT_EQ(c.description, "pods that run on it");
}

}  // namespace
}  // namespace cardea::admission
