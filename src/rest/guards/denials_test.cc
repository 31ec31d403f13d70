// A denial holds for every way to the denied effect, through the whole server.
#include <gtest/gtest.h>

#include "authz/access/access_authorizer.h"
#include "authz/namespace_policy/policy_authorizer.h"
#include "base/strings.h"
#include "feeds/access_policy_feed.h"
#include "feeds/namespace_policy_feed.h"
#include "json/print.h"
#include "rest/testing/test_server.h"

namespace cardea::rest {
namespace {

using json::Value;

// Policies that a test writes, in their own store.
class Documents {
 public:
  Documents() {
    access = feeds::AccessPolicyFeed::start(*store_).value();
    policy = feeds::NamespacePolicyFeed::start(*store_).value();
  }
  void put(std::string_view key, std::string_view text) {
    auto done = store::commit_sync(*store_,
                                   {{}, {store::Put{cat("/registry/", key), std::string(text)}}});
    CARDEA_CHECK(done && done->succeeded);
  }
  void erase(std::string_view key) {
    auto done = store::commit_sync(*store_, {{}, {store::Delete{cat("/registry/", key)}}});
    CARDEA_CHECK(done && done->succeeded);
  }

 private:
  SystemClock clock_;
  std::unique_ptr<store::Store> store_ = store::make_memory_store(clock_);

 public:
  std::unique_ptr<feeds::AccessPolicyFeed> access;
  std::unique_ptr<feeds::NamespacePolicyFeed> policy;
};

// Keeps the questions, except the one whether the caller may read the object: that one only decides
// how much the message says.
class Listening : public authz::Authorizer {
 public:
  std::string_view name() const override { return "listening"; }
  std::optional<authz::Decision> authorize(const authz::Attributes& a) const override {
    if (a.verb != "get")
      asked.push_back(
          cat(a.verb, " ", a.resource, a.subresource.empty() ? "" : "/", a.subresource));
    return authz::Decision::no_opinion();
  }
  mutable std::vector<std::string> asked;
};

// The document that denies: a rule of the policy of `hammer`, or a ClusterAccessPolicy.
enum class By { kPolicy, kAccess };

class Denials : public ::testing::TestWithParam<By> {
 protected:
  static constexpr std::string_view kPods = "/api/v1/namespaces/hammer/pods";

  Denials() {
    documents_.put("authorization.openshift.io/policies/hammer/default",
                   R"({"roles":{"r":{"rules":[]}}})");
    documents_.put("authorization.openshift.io/policybindings/hammer/hammer",
                   R"({"roleBindings":{"b":{"roleRef":{"namespace":"hammer","name":"r"},)"
                   R"("userNames":["edgar"]}}})");
    for (std::string_view name : {"hammer", "anvil"})
      make("/api/v1/namespaces",
           cat(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")", name, R"("}})"));
    make_pod("p");
  }
  void make(const std::string& path, const std::string& text) {
    Loopback::Reply reply = server_.send("POST", path, text);
    EXPECT_EQ(reply.status, 201) << path << json::print(reply.body);
  }
  void make_pod(std::string_view name, std::string_view labels = "{}") {
    make(std::string(kPods),
         cat(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")", name, R"(","labels":)",
             labels, R"(},"spec":{"containers":[{"name":"c","image":"i"}]}})"));
  }

  // `verbs` and `resources` as JSON lists; `expression` in CEL, or empty.
  void deny(std::string_view verbs, std::string_view resources, std::string_view expression = "",
            std::string_view names = "[]") {
    if (GetParam() == By::kPolicy) {
      std::string
          restriction = expression.empty()
                            ? ""
                            : cat(R"(,"attributeRestrictions":{"kind":"cel","expression":")",
                                  expression, R"("})");
      documents_.put(
          "authorization.openshift.io/policies/hammer/default",
          cat(R"({"roles":{"r":{"rules":[{"deny":true,"verbs":)", verbs, R"(,"resourceKinds":)",
              resources, R"(,"resourceNames":)", names, restriction, "}]}}}"));
    } else {
      documents_.put("access.cardea.dev/clusteraccesspolicies/no",
                     cat(R"({"spec":{"effect":"Deny","subjects":[{"kind":"User","name":"edgar"}],)"
                         R"("rules":[{"apiGroups":["*"],"verbs":)",
                         verbs, R"(,"resources":)", resources, R"(,"resourceNames":)", names,
                         R"(}],"expression":")", expression, R"("}})"));
    }
  }
  void deny_nothing() {
    if (GetParam() == By::kPolicy)
      documents_.put("authorization.openshift.io/policies/hammer/default",
                     R"({"roles":{"r":{"rules":[]}}})");
    else
      documents_.erase("access.cardea.dev/clusteraccesspolicies/no");
  }
  Loopback::Reply edgar(std::string method, std::string path, std::string_view body = "",
                        std::string type = "application/json") {
    Value document;
    if (!body.empty()) document = *json::parse(body);
    return edgar_.send_and_wait(std::move(method), std::move(path), std::move(document),
                                std::move(type));
  }
  std::string pod(std::string_view rest = "", std::string_view name = "p") const {
    return cat(kPods, "/", name, rest);
  }
  static std::string_view eviction() {
    return R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"}})";
  }
  static std::string_view binding() {
    return R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"p",)"
           R"("labels":{"tier":"back"}},"target":{"kind":"Node","name":"n"}})";
  }

  Documents documents_;
  authz::namespace_policy::Surroundings around_;
  std::shared_ptr<Listening> listening_ = std::make_shared<Listening>();
  std::shared_ptr<const authz::Authorizer>
      access_ = std::make_shared<authz::access::AccessAuthorizer>(documents_.access->snapshot());
  std::shared_ptr<const authz::Authorizer>
      policy_ = std::make_shared<authz::namespace_policy::PolicyAuthorizer>(
          documents_.policy->snapshot(), around_);
  TestServer server_{{}, {listening_, access_, policy_, authz::always_allow()}, true};
  Loopback edgar_{server_.gateway(), server_.loop(), {.name = "edgar"}, "edgar"};
};
INSTANTIATE_TEST_SUITE_P(Both, Denials, ::testing::Values(By::kPolicy, By::kAccess),
                         [](const auto& info) {
                           return info.param == By::kPolicy ? "ByNamespacePolicy"
                                                            : "ByAccessPolicy";
                         });

constexpr const char* kMerge = "application/merge-patch+json";

TEST_P(Denials, OfDeletingAPodHoldForItsEviction) {
  for (std::string_view expression :
       {"", "oldObject != null && oldObject.kind == 'Pod' && operation == 'DELETE'"}) {
    deny(R"(["delete"])", R"(["pods"])", expression);
    Loopback::Reply reply = edgar("POST", pod("/eviction"), eviction());
    EXPECT_EQ(reply.status, 403) << json::print(reply.body);
    EXPECT_EQ(edgar("DELETE", std::string(kPods)).status, 403);
    EXPECT_EQ(edgar("DELETE", pod()).status, 403);
  }
  deny(R"(["delete"])", R"(["pods"])", "oldObject == null || oldObject.metadata.name == 'other'");
  EXPECT_EQ(edgar("POST", pod("/eviction"), eviction()).status, 201);
}

TEST_P(Denials, OfUpdatingAPodHoldForItsPartsAndItsBinding) {
  for (std::string_view expression :
       {"", "oldObject != null && oldObject.kind == 'Pod' && object.kind == 'Pod'"}) {
    deny(R"(["update"])", R"(["pods"])", expression);
    EXPECT_EQ(edgar("PATCH", pod(), R"({"metadata":{"labels":{"a":"b"}}})", kMerge).status, 403);
    EXPECT_EQ(edgar("PATCH", pod("/status"), R"({"status":{"phase":"Failed"}})", kMerge).status,
              403);
    EXPECT_EQ(edgar("PATCH", pod("/ephemeralcontainers"),
                    R"({"spec":{"ephemeralContainers":[{"name":"e","image":"i"}]}})",
                    "application/strategic-merge-patch+json")
                  .status,
              403);
    EXPECT_EQ(edgar("PATCH", pod("/resize"), R"({"spec":{}})", kMerge).status, 403);
    EXPECT_EQ(edgar("POST", pod("/binding"), binding()).status, 403);
    EXPECT_EQ(edgar("POST", "/api/v1/namespaces/hammer/bindings", binding()).status, 403);
  }
  // The pod after the binding counts, not the Binding.
  deny(R"(["update"])", R"(["pods"])",
       "object.metadata.?labels.tier.orValue('') == 'back' && object.spec.nodeName == 'n'");
  EXPECT_EQ(edgar("POST", pod("/binding"), binding()).status, 403);
  EXPECT_EQ(edgar("POST", "/api/v1/namespaces/hammer/bindings", binding()).status, 403);
  EXPECT_EQ(edgar("PATCH", pod("/status"), R"({"status":{"phase":"Pending"}})", kMerge).status,
            200);
  deny_nothing();
  EXPECT_EQ(edgar("PATCH", pod("/status"), R"({"status":{"phase":"Running"}})", kMerge).status,
            200);
  EXPECT_EQ(edgar("POST", "/api/v1/namespaces/hammer/bindings", binding()).status, 201);
}

TEST_P(Denials, OfReplicasHoldForAScale) {
  make("/apis/apps/v1/namespaces/hammer/deployments",
       R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},
           "spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},
           "template":{"metadata":{"labels":{"a":"b"}},
             "spec":{"containers":[{"name":"c","image":"i"}]}}}})");
  const std::string path = "/apis/apps/v1/namespaces/hammer/deployments/d";
  auto scale = [&](int n) {
    return edgar("PATCH", path + "/scale", cat(R"({"spec":{"replicas":)", n, "}}"), kMerge).status;
  };
  int grace = 7;
  auto image = [&] {
    return edgar("PATCH", path,
                 cat(R"({"spec":{"template":{"spec":{"terminationGracePeriodSeconds":)", ++grace,
                     "}}}}"),
                 kMerge)
        .status;
  };
  deny(R"(["update"])", R"(["deployments"])", "object.spec.replicas != oldObject.spec.replicas");
  EXPECT_EQ(scale(3), 403);
  EXPECT_EQ(edgar("PATCH", path, R"({"spec":{"replicas":3}})", kMerge).status, 403);
  EXPECT_EQ(image(), 200);
  EXPECT_EQ(scale(1), 200) << "nothing changes";
  // A Scale does not show the object itself.
  deny(R"(["update"])", R"(["deployments"])",
       "object.spec.template.spec.containers[0].image == 'i'");
  EXPECT_EQ(scale(3), 403);
  if (GetParam() == By::kPolicy) {
    documents_.put("authorization.openshift.io/policies/hammer/default",
                   R"({"roles":{"r":{"rules":[{"deny":true,"verbs":["update"],)"
                   R"("resourceKinds":["deployments"],"attributeRestrictions":{)"
                   R"("fieldsMutatable":["spec.replicas"]}}]}}})");
    EXPECT_EQ(scale(3), 403);
    EXPECT_EQ(image(), 200);
  }
  deny_nothing();
  EXPECT_EQ(scale(3), 200);
}

TEST_P(Denials, OfANameHoldForCollectionsAndForWhatIsCreated) {
  const std::string maps = "/api/v1/namespaces/hammer/configmaps";
  auto map = [](std::string_view meta) {
    return cat(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":)", meta, "}");
  };
  make(maps, map(R"({"name":"x"})"));
  make(maps, map(R"({"name":"y"})"));
  deny(R"(["get","delete"])", R"(["configmaps"])", "", R"(["x"])");
  EXPECT_EQ(edgar("GET", maps + "/x").status, 403);
  EXPECT_EQ(edgar("GET", maps + "/y").status, 200);
  Loopback::Reply listed = edgar("GET", maps);
  EXPECT_EQ(listed.status, 403);
  EXPECT_NE(listed.body["message"].as_string().find("fieldSelector=metadata.name!=NAME"),
            std::string_view::npos)
      << json::print(listed.body);
  EXPECT_EQ(edgar("GET", maps + "?fieldSelector=metadata.name%21%3Dx").status, 200);
  EXPECT_EQ(edgar("GET", maps + "?fieldSelector=metadata.name%3Dy").status, 200);
  EXPECT_EQ(edgar("GET", maps + "?fieldSelector=metadata.name%3Dx").status, 403);
  EXPECT_EQ(edgar("GET", maps + "?watch=true").status, 403);
  EXPECT_EQ(edgar("GET", "/api/v1/watch/namespaces/hammer/configmaps").status, 403);
  EXPECT_EQ(edgar("DELETE", maps).status, 403);
  EXPECT_EQ(edgar("DELETE", maps + "?fieldSelector=metadata.name%21%3Dx").status, 200);
  EXPECT_EQ(server_.send("GET", maps + "/x").status, 200);
  EXPECT_EQ(server_.send("GET", maps + "/y").status, 404);

  deny(R"(["create"])", R"(["configmaps"])", "", R"(["z"])");
  EXPECT_EQ(edgar("POST", maps, map(R"({"name":"z"})")).status, 403);
  EXPECT_EQ(edgar("PATCH", maps + "/z?fieldManager=m", map(R"({"name":"z"})"),
                  "application/apply-patch+yaml")
                .status,
            403);
  EXPECT_EQ(edgar("POST", maps, map(R"({"name":"zz"})")).status, 201);
  EXPECT_EQ(edgar("POST", maps, map(R"({"generateName":"z"})")).status, 201);
}

TEST_P(Denials, OfWhatIsInANamespaceHoldForTheNamespace) {
  const std::string space = "/api/v1/namespaces/hammer";
  deny(R"(["delete"])", R"(["pods"])");
  // If a grant above namespaces lets a user delete namespaces, the policy of a namespace does not
  // restrict it.
  int expected = GetParam() == By::kPolicy ? 200 : 403;
  Loopback::Reply reply = edgar("DELETE", space + "?dryRun=All");
  EXPECT_EQ(reply.status, expected) << json::print(reply.body);
  if (expected == 403)
    EXPECT_NE(reply.body["message"].as_string().find("deleting the namespace would delete it"),
              std::string_view::npos)
        << json::print(reply.body);
  if (GetParam() == By::kPolicy) return;
  deny(R"(["delete"])", R"(["pods"])", "oldObject.metadata.name == 'p'");
  EXPECT_EQ(edgar("DELETE", space + "?dryRun=All").status, 403);
  deny(R"(["delete"])", R"(["pods"])", "oldObject.metadata.name == 'q'");
  EXPECT_EQ(edgar("DELETE", space + "?dryRun=All").status, 200);
  deny(R"(["delete"])", R"(["pods"])", "", R"(["p"])");
  EXPECT_EQ(edgar("DELETE", space + "?dryRun=All").status, 403);
  deny(R"(["delete"])", R"(["pods"])", "request.namespace == 'anvil'");
  EXPECT_EQ(edgar("DELETE", space + "?dryRun=All").status, 200);
  deny(R"(["delete"])", R"(["pods"])", "request.namespace == 'hammer'");
  EXPECT_EQ(edgar("DELETE", space + "?dryRun=All").status, 403);
  EXPECT_EQ(edgar("DELETE", "/api/v1/namespaces/anvil?dryRun=All").status, 200)
      << "nothing that is denied is in it";
}

TEST_P(Denials, OfObjectsHoldForTheirDefinition) {
  if (GetParam() == By::kPolicy) return;  // the policy of a namespace does not apply to definitions
  make("/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
       R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
           "metadata":{"name":"widgets.example.com"},
           "spec":{"group":"example.com","scope":"Namespaced",
             "names":{"plural":"widgets","singular":"widget","kind":"Widget"},
                   "versions":[{"name":"v1","served":true,"storage":true,
                     "schema":{"openAPIV3Schema":{"type":"object"}}}]}})");
  const std::string
      widgets = "/apis/example.com/v1/namespaces/hammer/widgets",
      definition =
          "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com?dryRun=All";
  ASSERT_TRUE(TestServer::eventually([&] { return server_.send("GET", widgets).status == 200; }));
  deny(R"(["delete"])", R"(["widgets"])");
  EXPECT_EQ(edgar("DELETE", definition).status, 200) << "there are none";
  make(widgets, R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"}})");
  Loopback::Reply reply = edgar("DELETE", definition);
  EXPECT_EQ(reply.status, 403) << json::print(reply.body);
  EXPECT_NE(reply.body["message"].as_string().find("CustomResourceDefinition would delete it"),
            std::string_view::npos);
  deny(R"(["delete"])", R"(["widgets"])", "oldObject.metadata.name == 'w'");
  EXPECT_EQ(edgar("DELETE", definition).status, 403);
  deny(R"(["delete"])", R"(["widgets"])", "oldObject.metadata.name == 'other'");
  EXPECT_EQ(edgar("DELETE", definition).status, 200);
  deny(R"(["delete"])", R"(["widgets"])", "request.namespace == 'hammer'");
  EXPECT_EQ(edgar("DELETE", definition).status, 403);
  const std::string
      owned = R"({"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"gone",)"
              R"("uid":"0"}]}})";
  const std::string status =
      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com/"
      "status?dryRun=All";
  EXPECT_EQ(edgar("PATCH", definition, owned, kMerge).status, 403);
  EXPECT_EQ(edgar("PATCH", status, owned, kMerge).status, 403);
  EXPECT_EQ(edgar("PATCH", definition, R"({"metadata":{"labels":{"a":"b"}}})", kMerge).status, 200);
  deny(R"(["delete"])", R"(["widgets"])", "oldObject.metadata.name == 'other'");
  EXPECT_EQ(edgar("PATCH", definition, owned, kMerge).status, 200);
}

TEST_P(Denials, OfDeletingHoldForWhoNamesAnOwner) {
  const std::string maps = "/api/v1/namespaces/hammer/configmaps";
  const std::string
      owners = R"("ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"gone","uid":"0"}])";
  auto map = [](std::string_view meta) {
    return cat(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{)", meta, "}}");
  };
  auto own = [&] {
    return edgar("PATCH", maps + "/x", cat(R"({"metadata":{)", owners, "}}"), kMerge);
  };
  auto disown = [&] {
    return server_.send("PATCH", maps + "/x", R"({"metadata":{"ownerReferences":null}})", kMerge);
  };
  make(maps, map(R"("name":"x","labels":{"a":"b"})"));
  for (std::string_view expression : {"", "oldObject.metadata.?labels.a.orValue('') == 'b'"}) {
    deny(R"(["delete"])", R"(["configmaps"])", expression);
    Loopback::Reply reply = own();
    EXPECT_EQ(reply.status, 403) << json::print(reply.body);
    EXPECT_TRUE(reply.body["message"].as_string().starts_with(
        "configmaps \"x\" is forbidden: cannot set an ownerRef on a resource you can't delete: "))
        << json::print(reply.body);
    EXPECT_EQ(edgar("PATCH", maps + "/x", R"({"data":{"k":"v"}})", kMerge).status, 200)
        << "no owner is named";
    EXPECT_EQ(edgar("POST", maps, map(cat(R"("name":"y","labels":{"a":"b"},)", owners))).status,
              403);
  }
  deny(R"(["delete"])", R"(["configmaps"])", "oldObject.metadata.?labels.a.orValue('') == 'c'");
  EXPECT_EQ(own().status, 200);
  EXPECT_EQ(disown().status, 200);
  EXPECT_EQ(edgar("POST", maps, map(cat(R"("name":"y",)", owners))).status, 201);
  deny_nothing();
  EXPECT_EQ(own().status, 200);
}

TEST_P(Denials, OfDeletingHoldForWhoNamesAnOwnerThroughAPart) {
  const std::string space = "/namespaces/hammer/",
                    pods = R"("template":{"metadata":{"labels":{"a":"b"}},"spec":)",
                    pod_spec = R"({"containers":[{"name":"c","image":"i"}]})",
                    selector = R"("selector":{"matchLabels":{"a":"b"}},)";
  struct Row {
    std::string path, resource, spec;
    std::vector<std::string> parts;
    std::string name = "x";
  };
  const std::vector<Row> rows = {
      {cat("/api/v1", space), "pods", pod_spec, {"status", "ephemeralcontainers", "resize"}},
      {cat("/api/v1", space), "services", R"({"ports":[{"port":1}]})", {"status"}},
      {cat("/api/v1", space),
       "replicationcontrollers",
       cat(R"({"selector":{"a":"b"},)", pods, pod_spec, "}}"),
       {"status", "scale"}},
      {cat("/api/v1", space),
       "persistentvolumeclaims",
       R"({"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1"}}})",
       {"status"}},
      {cat("/api/v1", space), "resourcequotas", "{}", {"status"}},
      {cat("/apis/apps/v1", space),
       "deployments",
       cat("{", selector, pods, pod_spec, "}}"),
       {"status", "scale"}},
      {cat("/apis/apps/v1", space),
       "replicasets",
       cat("{", selector, pods, pod_spec, "}}"),
       {"status", "scale"}},
      {cat("/apis/apps/v1", space),
       "statefulsets",
       cat("{", selector, pods, pod_spec, "}}"),
       {"status", "scale"}},
      {cat("/apis/apps/v1", space),
       "daemonsets",
       cat("{", selector, pods, pod_spec, "}}"),
       {"status"}},
      {cat("/apis/batch/v1", space),
       "jobs",
       R"({"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}})",
       {"status"}},
      {cat("/apis/policy/v1", space), "poddisruptionbudgets", R"({"minAvailable":1})", {"status"}},
      {cat("/apis/networking.k8s.io/v1", space),
       "ingresses",
       R"({"defaultBackend":{"service":{"name":"s","port":{"number":1}}}})",
       {"status"}},
      {"/api/v1/", "nodes", "{}", {"status"}},
      {"/api/v1/", "namespaces", "{}", {"status", "finalize"}},
      {"/api/v1/",
       "persistentvolumes",
       R"({"capacity":{"storage":"1"},"accessModes":["ReadWriteOnce"],"hostPath":{"path":"/x"}})",
       {"status"}},
      {"/apis/apiextensions.k8s.io/v1/",
       "customresourcedefinitions",
       R"({"group":"example.com","scope":"Namespaced",
           "names":{"plural":"xs","singular":"x","kind":"X"},
           "versions":[{"name":"v1","served":true,"storage":true,
             "schema":{"openAPIV3Schema":{"type":"object"}}}]})",
       {"status"},
       "xs.example.com"}};
  const std::string
      owner = R"("ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"gone","uid":"0"}])";
  int refused = 0;
  for (const Row& row : rows) {
    if (GetParam() == By::kPolicy && !row.path.ends_with(space)) continue;
    make(row.path + row.resource,
         cat(R"({"metadata":{"name":")", row.name, R"("},"spec":)", row.spec, "}"));
    const std::string object = cat(row.path, row.resource, "/", row.name);
    for (std::string_view expression : {"", "oldObject.metadata.name.startsWith('x')"})
      for (const std::string& part : row.parts) {
        const std::string what = cat(object, "/", part, " ", expression);
        deny(R"(["delete"])", cat(R"([")", row.resource, R"("])"), expression);
        Loopback::Reply patched = edgar("PATCH", cat(object, "/", part),
                                        cat(R"({"metadata":{)", owner, "}}"), kMerge);
        EXPECT_TRUE(server_.get(object)["metadata"]["ownerReferences"].empty())
            << what << json::print(patched.body);
        Value whole = server_.get(cat(object, part == "scale" ? "/scale" : ""));
        whole.member("metadata")
            .set("ownerReferences", (*json::parse(cat("{", owner, "}")))["ownerReferences"]);
        Loopback::Reply put = edgar("PUT", cat(object, "/", part), json::print(whole));
        EXPECT_TRUE(server_.get(object)["metadata"]["ownerReferences"].empty())
            << what << json::print(put.body);
        refused += (patched.status == 403) + (put.status == 403);
      }
  }
  EXPECT_GT(refused, GetParam() == By::kPolicy ? 30 : 40);
}

TEST_P(Denials, OfWhatIsInANamespaceHoldForItsOwners) {
  const std::string space = "/api/v1/namespaces/hammer";
  auto owners = [](std::string_view meta = "") {
    return cat(
        R"({"metadata":{)", meta,
        R"("ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"gone","uid":"0"}]}})");
  };
  if (GetParam() == By::kPolicy) {
    // As for the deletion: the policy of a namespace does not restrict a grant above namespaces.
    deny(R"(["delete"])", R"(["pods"])");
    EXPECT_EQ(edgar("PATCH", space + "?dryRun=All", owners(), kMerge).status, 200);
    return;
  }
  for (std::string_view expression : {"", "oldObject.metadata.name == 'p'"})
    for (std::string_view part : {"", "/status", "/finalize"}) {
      deny(R"(["delete"])", R"(["pods"])", expression);
      Value whole = server_.get(space);
      whole.member("metadata")
          .set("ownerReferences", (*json::parse(owners()))["metadata"]["ownerReferences"]);
      Loopback::Reply put = edgar("PUT", cat(space, part, "?dryRun=All"), json::print(whole));
      EXPECT_EQ(put.status, 403) << part << json::print(put.body);
      EXPECT_NE(put.body["message"].as_string().find("would delete it"), std::string_view::npos)
          << json::print(put.body);
      if (part == "/finalize") continue;
      EXPECT_EQ(edgar("PATCH", cat(space, part, "?dryRun=All"), owners(), kMerge).status, 403)
          << part;
      EXPECT_EQ(edgar("PATCH", cat(space, part, "?dryRun=All"),
                      R"({"metadata":{"labels":{"a":"b"}}})", kMerge)
                    .status,
                200)
          << "no owner is named";
    }
  deny(R"(["delete"])", R"(["pods"])", "oldObject.metadata.name == 'q'");
  EXPECT_EQ(edgar("PATCH", space + "?dryRun=All", owners(), kMerge).status, 200);
  // An owner may be deleted later, when there are pods.
  deny(R"(["delete"])", R"(["pods"])");
  EXPECT_EQ(edgar("PATCH", "/api/v1/namespaces/anvil?dryRun=All", owners(), kMerge).status, 403);
  EXPECT_EQ(edgar("POST", "/api/v1/namespaces", owners(R"("name":"tongs",)")).status, 403);
  EXPECT_EQ(edgar("POST", "/api/v1/namespaces", R"({"metadata":{"name":"tongs"}})").status, 201);
  deny_nothing();
  EXPECT_EQ(edgar("PATCH", space + "?dryRun=All", owners(), kMerge).status, 200);
}

// Allows everything except the requests that the test names.
class AllBut : public authz::Authorizer {
 public:
  explicit AllBut(std::string denied) : denied_(std::move(denied)) {}
  std::string_view name() const override { return "allbut"; }
  std::optional<authz::Decision> authorize(const authz::Attributes& a) const override {
    std::string asked = a.subresource.empty() ? cat(a.verb, " ", a.resource)
                                              : cat(a.verb, " ", a.resource, "/", a.subresource);
    return asked == denied_ ? authz::Decision::no_opinion("not this") : authz::Decision::allow();
  }

 private:
  std::string denied_;
};

TEST(OwnerReferences, TakeWhatKubernetesAsksFor) {
  struct Row {
    std::string lacks, owners;
    int create, update;
    std::string saying = "";
  };
  const std::string
      plain = R"([{"apiVersion":"v1","kind":"Pod","name":"p","uid":"1"}])",
      blocking =
          R"([{"apiVersion":"v1","kind":"Pod","name":"p","uid":"1","blockOwnerDeletion":true}])";
  const std::string strange =
      R"([{"apiVersion":"v9","kind":"Strange","name":"p","uid":"1","blockOwnerDeletion":true}])";
  for (const Row& row : std::vector<Row>{
           {"delete configmaps", plain, 201, 403,
            "cannot set an ownerRef on a resource you can't delete: not this, <nil>"},
           {"nothing", blocking, 201, 200},
           {"update pods/finalizers", plain, 201, 200},
           {"update pods/finalizers", blocking, 403, 403,
            "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't "
            "set finalizers on: not this, <nil>"},
           {"nothing", strange, 403, 403,
            "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for "
            "APIVersion v9 Kind Strange: no matches for kind \"Strange\" in version \"v9\""}}) {
    TestServer server({}, {std::make_shared<AllBut>(row.lacks)});
    Loopback jane(server.gateway(), server.loop(), {.name = "jane"}, "jane");
    const std::string maps = "/api/v1/namespaces/default/configmaps";
    ASSERT_EQ(server
                  .send("POST", "/api/v1/namespaces",
                        R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default"}})")
                  .status,
              201);
    ASSERT_EQ(
        server
            .send("POST", maps, R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}})")
            .status,
        201);
    Loopback::Reply created = jane.send_and_wait(
        "POST", maps,
        *json::parse(cat(
            R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"new","ownerReferences":)",
            row.owners, "}}")),
        "application/json");
    EXPECT_EQ(created.status, row.create) << row.lacks << row.owners << json::print(created.body);
    Loopback::Reply changed = jane.send_and_wait(
        "PATCH", maps + "/x",
        *json::parse(cat(R"({"metadata":{"ownerReferences":)", row.owners, "}}")), kMerge);
    EXPECT_EQ(changed.status, row.update) << row.lacks << row.owners << json::print(changed.body);
    if (row.update == 403)
      EXPECT_EQ(changed.body["message"].as_string(),
                cat("configmaps \"x\" is forbidden: ", row.saying));
    // A field that is present already is not a change by this user.
    if (row.owners == strange) continue;
    ASSERT_EQ(server
                  .send("PATCH", maps + "/x",
                        cat(R"({"metadata":{"ownerReferences":)", row.owners, "}}"), kMerge)
                  .status,
              200);
    EXPECT_EQ(
        jane.send_and_wait("PATCH", maps + "/x", *json::parse(R"({"data":{"k":"v"}})"), kMerge)
            .status,
        200)
        << row.lacks;
  }
}

TEST_P(Denials, CostNothingWhereThereAreNone) {
  deny_nothing();
  struct Request {
    std::string method, path, body, asked, type = "application/json";
  };
  for (const Request& r : std::vector<Request>{
           {"GET", std::string(kPods), "", "list pods"},
           {"PATCH", pod("/status"), R"({"status":{"phase":"Running"}})", "patch pods/status",
            kMerge},
           {"POST", pod("/eviction"), std::string(eviction()), "create pods/eviction"},
           {"DELETE", "/api/v1/namespaces/hammer", "", "delete namespaces"}}) {
    listening_->asked.clear();
    EXPECT_LT(edgar(r.method, r.path, r.body, r.type).status, 300) << r.path;
    EXPECT_EQ(join(listening_->asked, ", "), r.asked);
  }
}

TEST_P(Denials, AreTheSameToWhoAsksBeforehand) {
  deny(R"(["delete"])", R"(["pods"])");
  auto asked = [&](std::string_view verb, std::string_view part, std::string_view name = "p") {
    Loopback::Reply reply = edgar(
        "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        cat(R"({"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview",)"
            R"("spec":{"resourceAttributes":{"namespace":"hammer","version":"v1","verb":")",
            verb, R"(","resource":"pods","subresource":")", part, R"(","name":")", name,
            R"("}}})"));
    return reply.body["status"]["denied"].as_bool();
  };
  EXPECT_TRUE(asked("delete", ""));
  EXPECT_TRUE(asked("create", "eviction"));
  EXPECT_TRUE(asked("deletecollection", "", ""));
  EXPECT_FALSE(asked("update", ""));
  EXPECT_FALSE(asked("patch", "status"));
}

}  // namespace
}  // namespace cardea::rest
