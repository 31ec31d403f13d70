// Who may give what to others, through the whole server: roles and bindings of RBAC, and access
// policies.
#include <gtest/gtest.h>

#include "authz/access/access_authorizer.h"
#include "authz/namespace_policy/policy_authorizer.h"
#include "authz/rbac/rbac_authorizer.h"
#include "base/strings.h"
#include "feeds/access_policy_feed.h"
#include "feeds/namespace_policy_feed.h"
#include "feeds/role_feed.h"
#include "json/print.h"
#include "rest/testing/test_server.h"

namespace cardea::rest {
namespace {

constexpr std::string_view kRbac = "/apis/rbac.authorization.k8s.io/v1";
constexpr std::string_view kAccess = "/apis/access.cardea.dev/v1alpha1";
constexpr std::string_view kPolicy = "/apis/authorization.openshift.io/v1beta3/namespaces/ns";
constexpr const char* kMerge = "application/merge-patch+json";

bool is_refused(const std::string& answer) {
  return answer.starts_with("403");
}

// An authorizer that decides from the store of a server, and stands in the chain of that server.
class Later : public authz::Authorizer {
 public:
  Later(std::string name, std::string type) : name_(std::move(name)), type_(std::move(type)) {}
  std::string_view name() const override { return name_; }
  std::string_view type() const override { return type_; }
  std::optional<authz::Decision> authorize(const authz::Attributes& a) const override {
    return to->authorize(a);
  }
  Task<authz::Decision> evaluate(std::shared_ptr<const authz::Conditions> conditions,
                                 const authz::ConditionData& data) const override {
    return to->evaluate(std::move(conditions), data);
  }
  void add_rules(const authz::User& user, std::string_view namespace_name,
                 authz::Rules& rules) const override {
    to->add_rules(user, namespace_name, rules);
  }
  bool may_deny() const override { return to->may_deny(); }

  std::shared_ptr<const authz::Authorizer> to;

 private:
  std::string name_, type_;
};

class Delegation : public ::testing::Test {
 protected:
  enum class Order { kPolicyFirst, kRbacFirst };
  explicit Delegation(Order order = Order::kPolicyFirst, bool has_conditions = true)
      : server_({}, chain_of(order), has_conditions) {
    store::Store& store = server_.store_below();
    access_feed_ = feeds::AccessPolicyFeed::start(store).value();
    policy_feed_ = feeds::NamespacePolicyFeed::start(store).value();
    role_feed_ = feeds::RoleFeed::start(store).value();
    access_->to = std::make_shared<authz::access::AccessAuthorizer>(access_feed_->snapshot());
    policy_->to = std::make_shared<authz::namespace_policy::PolicyAuthorizer>(
        policy_feed_->snapshot(), authz::namespace_policy::Surroundings());
    rbac_->to = std::make_shared<authz::rbac::RbacAuthorizer>(role_feed_->snapshot());
    make("/api/v1/namespaces", R"({"metadata":{"name":"ns"}})");
  }
  void make(const std::string& path, const std::string& text) {
    Loopback::Reply reply = server_.send("POST", path, text);
    ASSERT_EQ(reply.status, 201) << path << text << json::print(reply.body);
  }
  // Each a list of words; '' is an empty one.
  static std::string rule(std::string_view verbs, std::string_view resources,
                          std::string_view groups = "''", std::string_view names = "") {
    return cat(R"({"verbs":)", list(verbs), R"(,"apiGroups":)", list(groups), R"(,"resources":)",
               list(resources), R"(,"resourceNames":)", list(names), "}");
  }
  static std::string list(std::string_view words) {
    std::vector<std::string> out;
    for (std::string_view word : split(words, ' '))
      if (!word.empty()) out.push_back(quoted(word == "''" ? std::string_view() : word));
    return cat("[", join(out, ","), "]");
  }
  // By a ClusterRole, or by a Role of the namespace.
  void allow(std::string_view user, std::string_view rules, bool in_cluster = true) {
    const std::string name = cat(user, "-", ++count_);
    const std::string at = in_cluster ? std::string(kRbac) : cat(kRbac, "/namespaces/ns");
    const std::string_view kind = in_cluster ? "ClusterRole" : "Role";
    make(cat(at, in_cluster ? "/clusterroles" : "/roles"),
         cat(R"({"metadata":{"name":")", name, R"("},"rules":[)", rules, "]}"));
    make(cat(at, in_cluster ? "/clusterrolebindings" : "/rolebindings"),
         cat(R"({"metadata":{"name":")", name,
             R"("},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":")", kind,
             R"(","name":")", name,
             R"("},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":")",
             user, R"("}]})"));
  }
  void may_write_roles(std::string_view user) {
    allow(user,
          rule("create get update patch", "roles rolebindings clusterroles clusterrolebindings",
               "rbac.authorization.k8s.io"));
  }
  // A role of namespace policy.
  void bind_policy(std::string_view user, std::string_view rules) {
    make(cat(kPolicy, "/policies"), R"({"metadata":{"name":"default"}})");
    make(cat(kPolicy, "/policybindings"),
         R"({"metadata":{"name":"ns"},"policyRef":{"namespace":"ns"}})");
    make(cat(kPolicy, "/roles"),
         cat(R"({"metadata":{"name":"r","namespace":"ns"},"rules":[)", rules, "]}"));
    make(cat(kPolicy, "/rolebindings"),
         cat(R"({"metadata":{"name":"r","namespace":"ns"},"roleRef":{"namespace":"ns","name":"r"},
                 "userNames":[")",
             user, R"("]})"));
  }
  Loopback::Reply as(std::string_view user, std::string method, std::string path,
                     const std::string& body, std::string type = "application/json") {
    Loopback client(server_.gateway(), server_.loop(),
                    {.name = std::string(user), .groups = {"system:authenticated"}},
                    std::string(user));
    return client.send_and_wait(std::move(method), std::move(path), *json::parse(body),
                                std::move(type));
  }
  // Writes a role of RBAC; the text of the refusal, or empty.
  std::string gives(std::string_view user, std::string_view rules, bool in_cluster = false) {
    Loopback::Reply reply = as(
        user, "POST", in_cluster ? cat(kRbac, "/clusterroles") : cat(kRbac, "/namespaces/ns/roles"),
        cat(R"({"metadata":{"name":"given-)", ++count_, R"("},"rules":[)", rules, "]}"));
    if (reply.status == 201) return "";
    return cat(reply.status, " ", reply.body["message"].as_string());
  }
  std::string gives_by_access(std::string_view user, std::string_view spec,
                              std::string_view where = "") {
    Loopback::Reply reply = as(user, "POST",
                               where.empty()
                                   ? cat(kAccess, "/clusteraccesspolicies")
                                   : cat(kAccess, "/namespaces/", where, "/accesspolicies"),
                               cat(R"({"metadata":{"name":"given-)", ++count_,
                                   R"("},"spec":{"effect":"Allow",)", spec, "}}"));
    if (reply.status == 201) return "";
    return cat(reply.status, " ", reply.body["message"].as_string());
  }

  std::vector<std::shared_ptr<const authz::Authorizer>> chain_of(Order order) const {
    if (order == Order::kRbacFirst) return {access_, rbac_, policy_};
    return {access_, policy_, rbac_};
  }

  int count_ = 0;
  const std::shared_ptr<Later> access_ = std::make_shared<Later>("access", "Access"),
                               policy_ = std::make_shared<Later>("policy", "Policy"),
                               rbac_ = std::make_shared<Later>("rbac", "RBAC");
  TestServer server_;
  std::unique_ptr<feeds::AccessPolicyFeed> access_feed_;
  std::unique_ptr<feeds::NamespacePolicyFeed> policy_feed_;
  std::unique_ptr<feeds::RoleFeed> role_feed_;
};

TEST_F(Delegation, WhoWritesWholeObjectsGivesAwayTheirFields) {
  may_write_roles("alice");
  allow("alice", rule("get update patch", "configmaps pods pods/status"));
  make("/apis/permissionconfig.k8s.io/v1/uncoveredpermissionsets",
       R"_({"metadata":{"name":"s"},"spec":{"uncoveredPermissions":
           ["granular:nodeAssignment","granular:label(guarded.example.com)"]}})_");
  EXPECT_EQ(gives("alice", rule("get granular granular:labels", "configmaps")), "");
  EXPECT_EQ(gives("alice", rule("granular:condition(Ready)", "pods/status")), "");
  EXPECT_EQ(gives("alice", rule("granular:label(app)", "pods", "''", "p")), "");
  EXPECT_EQ(gives("alice", rule("granular:specification", "pods"), true), "")
      << "for the cluster, as alice holds it";
  for (const std::string& more :
       {rule("granular:nodeAssignment", "pods"),
        rule("granular:label(guarded.example.com)", "pods"), rule("*", "pods"),
        rule("granular:labels", "*"), rule("granular:labels", "pods", "*"),
        rule("granular:labels", "*/status"), rule("granular:metadata", "pods"),
        rule("granular:identity", "pods"), rule("granular:labels", "pods/eviction"),
        rule("granular:labels", "pods/nothing"), rule("granular:labels", "secrets"),
        rule("granular:unheard", "pods"), rule("granular:data", "pods"),
        rule("granular:labels", "pods", "to.come.example.com"),
        rule("granular:labels", "pods", "''", "''"),
        rule("granular:labels -granular:labels delete", "pods")}) {
    EXPECT_PRED1(is_refused, gives("alice", more)) << more;
    EXPECT_PRED1(is_refused, gives("alice", more, true)) << more;
  }
}

TEST_F(Delegation, TheReceiverOfAFieldWritesItAndNothingElse) {
  may_write_roles("alice");
  allow("alice", rule("get update patch", "configmaps"));
  make("/api/v1/namespaces/ns/configmaps", R"({"metadata":{"name":"c"},"data":{"a":"b"}})");
  const std::string path = "/api/v1/namespaces/ns/configmaps/c";
  const std::string label = R"({"metadata":{"labels":{"a":"b"}}})", data = R"({"data":{"a":"c"}})";
  EXPECT_EQ(as("bob", "PATCH", path, label, kMerge).status, 403);
  ASSERT_EQ(as("alice", "POST", cat(kRbac, "/namespaces/ns/roles"),
               cat(R"({"metadata":{"name":"labels"},"rules":[)",
                   rule("get granular granular:labels", "configmaps"), "]}"))
                .status,
            201);
  const std::string binding =
      R"({"metadata":{"name":"labels"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io",
          "kind":"Role","name":"labels"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io",
          "kind":"User","name":"bob"}]})";
  ASSERT_EQ(as("alice", "POST", cat(kRbac, "/namespaces/ns/rolebindings"), binding).status, 201);
  EXPECT_EQ(as("bob", "PATCH", path, label, kMerge).status, 200);
  EXPECT_EQ(as("bob", "PATCH", path, data, kMerge).status, 403);
}

TEST_F(Delegation, ABindingIsCheckedAsItsRole) {
  may_write_roles("alice");
  allow("alice", rule("update patch", "configmaps"));
  make(cat(kRbac, "/clusterroles"), cat(R"({"metadata":{"name":"labels"},"rules":[)",
                                        rule("granular granular:labels", "configmaps"), "]}"));
  make(cat(kRbac, "/clusterroles"), cat(R"({"metadata":{"name":"names"},"rules":[)",
                                        rule("granular granular:identity", "configmaps"), "]}"));
  auto binds = [&](std::string_view role) {
    return as("alice", "POST", cat(kRbac, "/namespaces/ns/rolebindings"),
              cat(R"({"metadata":{"name":")", role,
                  R"("},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole",
                      "name":")",
                  role,
                  R"("},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User",
                      "name":"bob"}]})"))
        .status;
  };
  EXPECT_EQ(binds("labels"), 201);
  EXPECT_EQ(binds("names"), 403);
  EXPECT_EQ(binds("missing"), 404);
}

TEST_F(Delegation, APartOfADeniedWriteIsNotGivenAway) {
  may_write_roles("alice");
  allow("alice", rule("update patch granular:data", "configmaps"));
  const std::string labels = rule("granular:labels", "configmaps"),
                    data = rule("granular:data", "configmaps");
  ASSERT_EQ(gives("alice", labels), "");
  ASSERT_EQ(gives("alice", data), "");
  make(cat(kAccess, "/clusteraccesspolicies"),
       R"({"metadata":{"name":"no"},"spec":{"effect":"Deny","subjects":[{"kind":"User",
           "name":"alice"}],"rules":[{"verbs":["update"],"apiGroups":[""],
           "resources":["configmaps"]}],"expression":"object.metadata.name == 'never'"}})");
  EXPECT_PRED1(is_refused, gives("alice", labels));
  EXPECT_PRED1(is_refused, gives("alice", data))
      << "what she holds by its name is a part of it too";
}

TEST_F(Delegation, APolicyAdminGivesByRbacWhatTheOwnRulesCover) {
  bind_policy("hubert", R"({"verbs":["*"],"resourceKinds":["*","-secrets","-policies"]},
                           {"verbs":["get"],"resourceKinds":["secrets"],"resourceNames":["s"]})");
  EXPECT_EQ(gives("hubert", rule("get list delete", "pods configmaps")), "");
  EXPECT_EQ(gives("hubert", rule("get", "secrets", "''", "s")), "");
  EXPECT_EQ(gives("hubert", rule("granular:labels", "pods")), "");
  const std::string roles = "rbac.authorization.k8s.io";
  for (const std::string& more :
       {rule("get", "secrets"), rule("get", "*"), rule("get", "* -secrets -policies"),
        rule("list", "secrets", "''", "''"), rule("get", "secrets", "''", "s ''"),
        rule("escalate", "roles", roles), rule("bind", "roles", roles),
        rule("deny", "accesspolicies", "access.cardea.dev"), rule("*", "pods")})
    EXPECT_PRED1(is_refused, gives("hubert", more)) << more;
  EXPECT_PRED1(is_refused, gives("hubert", rule("get", "pods"), true)) << "not in the cluster";
}

TEST_F(Delegation, AHugeRuleIsRefused) {
  bind_policy("hubert", R"({"verbs":["*","-proxy"],"resourceKinds":["*"]})");
  std::string many = "proxy";
  for (int i = 0; i < 60; ++i) many += cat(" w", i);
  EXPECT_PRED1(is_refused, gives("hubert", rule(many, many, many, many)));
}

TEST_F(Delegation, ADenialOfThePolicyIsNotPassedByRbac) {
  bind_policy("hubert",
              R"({"verbs":["*"],"resourceKinds":["*","-policies"]},
                 {"deny":true,"verbs":["delete"],"resourceKinds":["pods"],
                  "attributeRestrictions":{"labelsContain":["protected"]}})");
  allow("hubert", rule("delete", "pods"), false);
  EXPECT_EQ(gives("hubert", rule("get", "pods")), "");
  for (const std::string& more : {rule("delete", "pods"), rule("create", "pods/eviction"),
                                  rule("get delete", "pods"), rule("deletecollection", "pods")})
    EXPECT_PRED1(is_refused, gives("hubert", more)) << more;
}

// Verbs that replace checks count only where another authorizer than namespace policy gives them:
// an access policy must not be the other one.
TEST_F(Delegation, NoAccessPolicyTurnsTheStarOfAPolicyIntoAnExemption) {
  bind_policy("hubert",
              R"({"verbs":["*"],"resourceKinds":["roles","rolebindings","accesspolicies"]},
                           {"verbs":["escalate"],"resourceKinds":["roles"]})");
  for (const char* verb : {"escalate", "bind", "deny"})
    EXPECT_PRED1(is_refused,
                 gives_by_access(
                     "hubert",
                     cat(R"("rules":[{"verbs":[")", verb,
                         R"("],"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles"]}])"),
                     "ns"))
        << verb;
  EXPECT_EQ(gives_by_access("hubert",
                            R"("rules":[{"verbs":["get"],"resources":["roles"],
                                "apiGroups":["rbac.authorization.k8s.io"]}])",
                            "ns"),
            "");
}

class PolicyAfterRbac : public Delegation {
 protected:
  PolicyAfterRbac() : Delegation(Order::kRbacFirst) {}
};
TEST_F(PolicyAfterRbac, ARoleOfRbacThatIsAskedFirstGivesNothingOfThePolicy) {
  bind_policy("hubert", R"({"verbs":["*"],"resourceKinds":["*","-secrets"]})");
  EXPECT_PRED1(is_refused, gives("hubert", rule("get", "pods")))
      << "it would pass the denials of the policy";
}

class Conditions : public Delegation {
 protected:
  explicit Conditions(bool has_conditions = true)
      : Delegation(Order::kPolicyFirst, has_conditions) {
    allow("alice",
          rule("create update", "clusteraccesspolicies accesspolicies", "access.cardea.dev"));
    make(cat(kAccess, "/clusteraccesspolicies"),
         cat(R"({"metadata":{"name":"dev"},"spec":{"effect":"Allow","subjects":[{"kind":"User",
                 "name":"alice"}],)",
             kMaps, R"(,"expression":"object.data.class == 'dev'"}})"));
  }
  static constexpr std::string_view
      kMaps = R"("rules":[{"verbs":["create","update"],"apiGroups":[""],
                           "resources":["configmaps"]}])",
      kToBob = R"("subjects":[{"kind":"User","name":"bob"}],)";
  std::string gives_if(std::string_view expression, std::string_view where = "") {
    return gives_by_access("alice", cat(kToBob, kMaps, R"(,"expression":")", expression, "\""),
                           where);
  }
  int creates(std::string_view user, std::string_view name, std::string_view data) {
    return as(user, "POST", "/api/v1/namespaces/ns/configmaps",
              cat(R"({"metadata":{"name":")", name, R"("},"data":)", data, "}"))
        .status;
  }
};

TEST_F(Conditions, CanBePassedOnAndBeStronger) {
  EXPECT_EQ(creates("bob", "a", R"({"class":"dev","size":"s"})"), 403);
  EXPECT_EQ(gives_if("object.data.class == 'dev' && object.data.size == 's'"), "");
  EXPECT_EQ(creates("bob", "a", R"({"class":"dev","size":"s"})"), 201);
  EXPECT_EQ(creates("bob", "b", R"({"class":"dev","size":"l"})"), 403);
  EXPECT_EQ(creates("bob", "b", R"({"class":"prod","size":"s"})"), 403);
  EXPECT_EQ(gives_if("object.data.class == 'dev'", "ns"), "");
  for (const char* weaker :
       {"true", "object.data.class != 'prod'", "object.data.class == 'dev' || object.data.x == ''",
        "!has(object.data) || object.data.class == 'dev'", "object.data.class in ['dev','test']",
        "object.data.?class.orValue('dev') == 'dev'", "oldObject.data.class == 'dev'"}) {
    EXPECT_PRED1(is_refused, gives_if(weaker)) << weaker;
    EXPECT_PRED1(is_refused, gives_if(weaker, "ns")) << weaker;
  }
  EXPECT_PRED1(is_refused, gives_by_access("alice", cat(kToBob, kMaps))) << "without a condition";
  EXPECT_PRED1(
      is_refused,
      gives_by_access("alice",
                      R"("rules":[{"verbs":["delete"],"apiGroups":[""],"resources":["configmaps"]}],
                  "expression":"object.data.class == 'dev'")"));
}

TEST_F(Conditions, CannotBePassedOnByRbac) {
  may_write_roles("alice");
  EXPECT_PRED1(is_refused, gives("alice", rule("create", "configmaps")));
  EXPECT_PRED1(is_refused, gives("alice", rule("granular:labels", "configmaps")))
      << "update under a condition is not update";
}

TEST_F(Conditions, OfADenialCount) {
  const char* same = "object.data.class == 'dev'";
  ASSERT_EQ(gives_if(same), "");
  for (const char* effect : {"Deny", "NoOpinion"}) {
    make(cat(kAccess, "/clusteraccesspolicies"),
         cat(R"({"metadata":{"name":"no"},"spec":{"effect":")", effect,
             R"(","subjects":[{"kind":"User","name":"alice"}],)", kMaps,
             R"(,"expression":"object.data.secret == 'x'"}})"));
    EXPECT_PRED1(is_refused, gives_if(same)) << effect;
    EXPECT_PRED1(is_refused, gives_if(cat(same, " && object.data.secret == 'y'"))) << effect;
    ASSERT_EQ(server_.send("DELETE", cat(kAccess, "/clusteraccesspolicies/no")).status, 200);
  }
  EXPECT_EQ(gives_if(same), "");
}

// What is received can be passed on, and never grows on the way.
TEST_F(Conditions, DoNotGrowFromHandToHand) {
  allow("bob", rule("create update patch", "clusteraccesspolicies", "access.cardea.dev"));
  ASSERT_EQ(gives_if("object.data.class == 'dev' && object.data.size == 's'"), "");
  auto bob_gives = [&](std::string_view expression) {
    return gives_by_access("bob", cat(kMaps, R"(,"expression":")", expression, "\""));
  };
  EXPECT_EQ(bob_gives("object.data.class == 'dev' && object.data.size == 's'"), "");
  EXPECT_PRED1(is_refused, bob_gives("object.data.class == 'dev'"));
  // Nor by changing the policy that gives it.
  EXPECT_EQ(as("bob", "PATCH", cat(kAccess, "/clusteraccesspolicies/given-", count_ - 1),
               R"({"spec":{"expression":"object.data.class == 'dev'"}})", kMerge)
                .status,
            403);
}

class NoConditions : public Conditions {
 protected:
  NoConditions() : Conditions(false) {}
};
TEST_F(NoConditions, GiveNothing) {
  EXPECT_PRED1(is_refused, gives_if("object.data.class == 'dev'"));
}

}  // namespace
}  // namespace cardea::rest
