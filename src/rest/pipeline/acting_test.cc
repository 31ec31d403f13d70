#include "rest/pipeline/acting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "authz/access/access_authorizer.h"
#include "base/strings.h"
#include "rest/gateway.h"
#include "rest/testing/test_server.h"

namespace cardea::rest::pipeline {
namespace {

using authz::Decision;
using ::testing::HasSubstr;
using ::testing::Not;

// The token is the name of the user.
class ByName : public authn::Authenticator {
 public:
  std::optional<Result<std::optional<authn::Identity>>> authenticate(
      const authn::Credentials& credentials) const override {
    return authn::Identity{.user = {.name = std::string(credentials.token)},
                           .authenticator = "by-name"};
  }
};

// Jane may do everything; the others may do what is listed here.
class Roles : public authz::Authorizer {
 public:
  std::string_view name() const override { return "roles"; }
  std::optional<Decision> authorize(const authz::Attributes& a) const override {
    if (a.user.name == "jane" && !jane_is_nobody) return Decision::allow();
    const std::string asked = cat(a.user.name, " ", a.verb, " ", a.resource);
    return std::ranges::find(also, asked) != also.end() ? Decision::allow()
                                                        : Decision::no_opinion();
  }
  std::vector<std::string> also;
  bool jane_is_nobody = false;
};

// Policies that a test adds while the server runs.
class Policies : public authz::Authorizer {
 public:
  std::string_view name() const override { return "access"; }
  std::optional<Decision> authorize(const authz::Attributes& a) const override {
    return policies_->authorize(a);
  }
  Task<Decision> evaluate(std::shared_ptr<const authz::Conditions> conditions,
                          const authz::ConditionData& data) const override {
    return policies_->evaluate(std::move(conditions), data);
  }
  Decision narrowed(std::shared_ptr<const authz::Conditions> conditions,
                    const authz::Attributes& impersonated) const override {
    return policies_->narrowed(std::move(conditions), impersonated);
  }
  bool may_deny() const override { return policies_->may_deny(); }

  void add(std::string_view name, std::string_view spec) {
    auto parsed = json::parse(cat(R"({"spec":)", spec, "}"));
    CARDEA_CHECK(parsed.has_value());
    auto policy = std::make_shared<const authz::access::Policy>("", name, *parsed);
    CARDEA_CHECK(policy->problem().empty());
    index_.add(policy);
    policies_ = authz::access::authorizer_of(std::make_shared<const authz::access::Index>(index_));
  }

 private:
  authz::access::Index index_;
  std::shared_ptr<const authz::Authorizer> policies_ = authz::access::authorizer_of(
      std::make_shared<const authz::access::Index>());
};

struct Reply {
  int status = 0;
  std::string text;
  json::Value body() const { return json::parse(text).value_or(json::Value()); }
  std::string message() const { return std::string(body()["message"].as_string()); }
};

class Waiting : public http::Exchange {
 public:
  explicit Waiting(net::Loop& loop) : Exchange(loop) {}
  void respond(http::Response r) override {
    reply.set_value({r.status, std::string(r.body.text())});
  }
  std::shared_ptr<http::Stream> stream(http::Response r) override {
    reply.set_value({r.status, "a stream"});
    return nullptr;
  }
  void on_close(net::Callback) override {}
  std::promise<Reply> reply;
};

class ActingForAnother : public ::testing::Test {
 protected:
  static constexpr std::string_view kMaps = "/api/v1/namespaces/default/configmaps";
  static constexpr std::string_view
      kWhom = R"("effect":"Allow","subjects":[{"kind":"User","name":"lucas"}],)"
              R"("rules":[{"apiGroups":["authentication.k8s.io"],"resources":["users"],)"
              R"("resourceNames":["jane"],"verbs":["impersonate:user-info"]}])";

  ActingForAnother() {
    server_.send("POST", "/api/v1/namespaces",
                 R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default"}})");
    server_.send("POST", std::string(kMaps), map("marked"));
    server_.send("POST", std::string(kMaps), map("plain", ""));
    policies_->add("on", R"({"effect":"Allow","subjects":[{"kind":"User","name":"lucas"}],)"
                         R"x("expression":"request.verb.startsWith('impersonate-on:')"})x");
  }
  // Lucas may be jane if this holds.
  void lucas_if(std::string_view expression) {
    policies_->add("whom", cat("{", kWhom, R"(,"expression":")", expression, "\"}"));
  }
  static constexpr std::string_view kMarked =
      "(operation == 'DELETE' ? oldObject : object).metadata.?labels.by.orValue('') == 'lucas'";
  static std::string map(std::string_view name,
                         std::string_view labels = R"("labels":{"by":"lucas"},)",
                         std::string_view value = "1") {
    return cat(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{)", labels, R"("name":")", name,
               R"("},"data":{"a":")", value, R"("}})");
  }

  struct Request {
    std::string method, path, body = "", type = "application/json";
    std::vector<std::string> groups = {};
  };
  Reply send(const Request& r, std::string_view as = "jane", std::string_view by = "lucas") {
    auto exchange = std::make_shared<Waiting>(at_->loop());
    http::Request& request = exchange->request();
    request.method = r.method;
    request.target = r.path;
    const std::size_t question = r.path.find('?');
    request.path = r.path.substr(0, question);
    if (question != std::string::npos) request.query = r.path.substr(question + 1);
    request.headers.add("Authorization", cat("Bearer ", by));
    request.headers.add("Accept", "application/json");
    if (!as.empty()) request.headers.add("Impersonate-User", as);
    for (const std::string& g : r.groups) request.headers.add("Impersonate-Group", g);
    if (!r.body.empty()) request.headers.add("Content-Type", r.type);
    request.body = r.body;
    auto answer = exchange->reply.get_future();
    at_->loop().post([&] { gateway_->handle(exchange); });
    return answer.get();
  }
  Reply create(const std::string& body) { return send({"POST", std::string(kMaps), body}); }
  // Every way to write the object without the label, or to take it away.
  std::vector<Request> writes() const {
    const std::string maps(kMaps), plain = maps + "/plain";
    return {{"POST", maps, map("new", "")},
            {"POST", maps + "?dryRun=All", map("new", "")},
            {"PUT", plain, map("plain", "", "2")},
            {"PUT", plain + "?dryRun=All", map("plain", "", "2")},
            {"PATCH", plain, R"({"data":{"a":"2"}})", "application/merge-patch+json"},
            {"PATCH", plain, R"({"data":{"a":"1"}})", "application/merge-patch+json"},
            {"PATCH", plain, R"({"data":{"a":"2"}})", "application/strategic-merge-patch+json"},
            {"PATCH", plain, R"([{"op":"replace","path":"/data/a","value":"2"}])",
             "application/json-patch+json"},
            {"PATCH", plain + "?fieldManager=m&force=true", map("plain", "", "2"),
             "application/apply-patch+yaml"},
            {"PATCH", maps + "/applied?fieldManager=m", map("applied", ""),
             "application/apply-patch+yaml"},
            {"PUT", "/apis/coordination.k8s.io/v1/namespaces/default/leases/made",
             R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":)"
             R"({"name":"made"},"spec":{}})"},
            {"DELETE", plain},
            {"DELETE", plain + "?dryRun=All"}};
  }
  std::vector<Request> reads() const {
    const std::string maps(kMaps);
    const std::string review = R"({"apiVersion":"authorization.k8s.io/v1","kind":"Self)"
                               R"(SubjectAccessReview","spec":{"resourceAttributes":)"
                               R"({"verb":"get","resource":"secrets"}}})";
    return {{"GET", maps + "/marked"},
            {"GET", maps},
            {"GET", maps + "?watch=1"},
            {"GET", "/api/v1/namespaces/default/pods/p/log"},
            {"GET", "/version"},
            {"DELETE", maps},
            {"POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review},
            {"POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews",
             R"({"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"})"},
            {"POST", "/api/v1/nosuchresources", "{}"}};
  }
  void writes_nothing(const Request& r) {
    const store::Revision before = server_.store().current_revision();
    Reply reply = send(r);
    EXPECT_EQ(reply.status, 403) << r.method << " " << r.path << " " << r.type << reply.text;
    EXPECT_EQ(server_.store().current_revision(), before) << r.method << " " << r.path;
  }

  std::shared_ptr<Roles> roles_ = std::make_shared<Roles>();
  std::shared_ptr<Policies> policies_ = std::make_shared<Policies>();
  TestServer server_{{}, {roles_, policies_}};
  TestServer* at_ = &server_;
  authn::AuthenticatorChain authenticators_{{std::make_shared<ByName>()}};
  std::unique_ptr<Gateway> gateway_ = server_.gateway_with(authenticators_);
};

TEST_F(ActingForAnother, IsSettledWithTheObjectThatIsWritten) {
  lucas_if(kMarked);
  EXPECT_EQ(create(map("a")).status, 201);
  Reply refused = create(map("b", ""));
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.message(),
              HasSubstr("users.authentication.k8s.io \"jane\" is forbidden: User \"lucas\" cannot "
                        "impersonate:user-info resource \"users\""));
  EXPECT_THAT(refused.message(), HasSubstr("no condition allowed the request"));
  const std::string marked = cat(kMaps, "/marked");
  EXPECT_EQ(send({"PATCH", marked, R"({"data":{"a":"2"}})", "application/merge-patch+json"}).status,
            200);
  EXPECT_EQ(send({"PUT", marked, map("marked", R"("labels":{"by":"lucas"},)", "3")}).status, 200);
  EXPECT_EQ(send({"PATCH", cat(kMaps, "/made?fieldManager=m"), map("made"),
                  "application/apply-patch+yaml"})
                .status,
            201);
  EXPECT_EQ(send({"DELETE", marked}).status, 200);
}

TEST_F(ActingForAnother, NothingIsWrittenBeforeTheConditionHolds) {
  lucas_if(kMarked);
  for (const Request& r : writes()) writes_nothing(r);
}

TEST_F(ActingForAnother, AnErrorIsNeverAnAllow) {
  lucas_if("object.metadata.labels.nothing.at.all == 1");
  for (const Request& r : writes()) writes_nothing(r);
  writes_nothing({"POST", std::string(kMaps), map("new")});
}

TEST_F(ActingForAnother, ReadsAndQuestionsDoNotWaitForAnObject) {
  lucas_if(kMarked);
  for (const Request& r : reads()) {
    Reply reply = send(r);
    EXPECT_EQ(reply.status, 403) << r.method << " " << r.path << reply.text;
    EXPECT_THAT(reply.message(), HasSubstr("User \"lucas\" cannot impersonate:user-info"));
  }
}

TEST_F(ActingForAnother, TheImpersonatedRequestDecidesFirst) {
  lucas_if("impersonatedRequest.verb == 'create' && object.metadata.name == 'a'");
  EXPECT_EQ(create(map("a")).status, 201);
  EXPECT_EQ(create(map("b")).status, 403);
  // The body is not looked at: what it is cannot help.
  Reply update = send({"PUT", cat(kMaps, "/marked"), "no json"});
  EXPECT_EQ(update.status, 403);
  EXPECT_THAT(update.message(), HasSubstr("cannot impersonate:user-info"));
}

TEST_F(ActingForAnother, ConditionsAskAsTheSenderAndNotAsTheOther) {
  lucas_if("authorizer.group('').resource('secrets').check('get').allowed()");
  EXPECT_EQ(create(map("a")).status, 403) << "jane may, lucas may not";
  roles_->also.push_back("lucas get secrets");
  EXPECT_EQ(create(map("a")).status, 201);
}

TEST_F(ActingForAnother, ThePermissionsOfTheOtherAreStillNeeded) {
  lucas_if(kMarked);
  roles_->jane_is_nobody = true;
  Reply reply = create(map("a"));
  EXPECT_EQ(reply.status, 403);
  EXPECT_THAT(reply.message(), HasSubstr("User \"jane\" cannot create resource \"configmaps\""));
}

TEST_F(ActingForAnother, TheObjectThatIsThereCountsAndNotTheBodyAlone) {
  lucas_if("oldObject != null && oldObject.metadata.?labels.by.orValue('') == 'lucas'");
  writes_nothing({"PUT", cat(kMaps, "/plain"), map("plain")});
  writes_nothing(
      {"PATCH", cat(kMaps, "/new?fieldManager=m"), map("new"), "application/apply-patch+yaml"});
  EXPECT_EQ(send({"PUT", cat(kMaps, "/marked"), map("marked", "", "2")}).status, 200);
}

TEST_F(ActingForAnother, AModeThatNeedsNoObjectIsBetter) {
  lucas_if(kMarked);
  roles_->also.push_back("lucas impersonate users");
  EXPECT_EQ(create(map("b", "")).status, 201);
}

TEST_F(ActingForAnother, TheActionMayDependOnTheObjectToo) {
  policies_->add("bob-whom", R"({"effect":"Allow","subjects":[{"kind":"User","name":"bob"}],)"
                             R"("rules":[{"apiGroups":["authentication.k8s.io"],"resources":)"
                             R"(["users"],"verbs":["impersonate:user-info"]}]})");
  policies_->add("bob-on", R"({"effect":"Allow","subjects":[{"kind":"User","name":"bob"}],)"
                           R"("rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":)"
                           R"(["impersonate-on:user-info:create"]}],)"
                           R"("expression":"object.data.a == '1'"})");
  EXPECT_EQ(send({"POST", std::string(kMaps), map("a")}, "jane", "bob").status, 201);
  Reply refused = send({"POST", std::string(kMaps), map("b", "", "2")}, "jane", "bob");
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.message(), HasSubstr("User \"bob\" cannot impersonate-on:user-info:create "
                                           "resource \"configmaps\""));
}

TEST_F(ActingForAnother, ADeniedGroupIsFoundAmongManyThatAreAllowed) {
  lucas_if("true");
  policies_->add("groups", R"({"effect":"Allow","subjects":[{"kind":"User","name":"lucas"}],)"
                           R"("rules":[{"apiGroups":["authentication.k8s.io"],"resources":)"
                           R"(["groups"],"verbs":["impersonate:user-info"]}]})");
  policies_->add("not-admins", R"({"effect":"Deny","subjects":[{"kind":"User","name":"lucas"}],)"
                               R"("rules":[{"apiGroups":["authentication.k8s.io"],"resources":)"
                               R"(["groups"],"resourceNames":["admins"],"verbs":)"
                               R"(["impersonate:user-info"]}],)"
                               R"("expression":"object.data.a == '2'"})");
  Request request{.method = "POST", .path = std::string(kMaps), .body = map("a")};
  request.groups = {"a", "b", "c", "admins"};
  EXPECT_EQ(send(request).status, 201);
  request.body = map("b", "", "2");
  Reply refused = send(request);
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.message(), HasSubstr("groups.authentication.k8s.io \"admins\" is forbidden"));
  request.groups = {"a", "b", "c", "d"};
  EXPECT_EQ(send(request).status, 201);
}

TEST_F(ActingForAnother, ConnectionsAreSettledOnTheirOptions) {
  lucas_if("object.kind == 'PodExecOptions' && object.command == ['ls']");
  const std::string exec = "/api/v1/namespaces/default/pods/x/exec?command=";
  for (const char* method : {"POST", "GET"}) {
    EXPECT_EQ(send({method, exec + "ls"}).status, 404) << "allowed, and not there";
    Reply refused = send({method, exec + "sh"});
    EXPECT_EQ(refused.status, 403) << method;
    EXPECT_THAT(refused.message(), HasSubstr("cannot impersonate:user-info"));
  }
  EXPECT_EQ(send({"GET", "/api/v1/namespaces/default/pods/x/log"}).status, 403);
}

TEST_F(ActingForAnother, TheBodyOfAnotherKindDoesNotStandInForTheObject) {
  lucas_if(kMarked);
  server_.send("POST", "/api/v1/namespaces/default/pods",
               R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},)"
               R"("spec":{"containers":[{"name":"c","image":"i"}]}})");
  writes_nothing({"POST", "/api/v1/namespaces/default/pods/p/eviction",
                  R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p",)"
                  R"("labels":{"by":"lucas"}}})"});
}

// The sender must not learn from answers what is in objects that it may not touch.
TEST_F(ActingForAnother, LearnsNothingAboutTheObjectBefore) {
  lucas_if(kMarked);
  const std::string plain = cat(kMaps, "/plain");
  auto tries = [&](std::string_view value) {
    return send({"PATCH", plain,
                 cat(R"([{"op":"test","path":"/data/a","value":")", value, R"("}])"),
                 "application/json-patch+json"});
  };
  EXPECT_EQ(tries("1").text, tries("2").text);
  EXPECT_EQ(tries("1").status, 403);
  auto removes = [&](std::string_view key) {
    return send({"PATCH", plain, cat(R"([{"op":"remove","path":"/data/)", key, R"("}])"),
                 "application/json-patch+json"});
  };
  EXPECT_EQ(removes("a").text, removes("z").text);
  auto applies = [&](std::string_view value) {
    return send({"PATCH", plain + "?fieldManager=other", map("plain", "", value),
                 "application/apply-patch+yaml"});
  };
  Reply conflict = applies("2");
  EXPECT_EQ(conflict.status, 409);
  EXPECT_THAT(conflict.text, Not(HasSubstr("data.a")));
  EXPECT_EQ(conflict.text, applies("1").text);
}

TEST_F(ActingForAnother, WithoutTheGateItIsARefusal) {
  TestServer without({}, {roles_, policies_}, false);
  without.send("POST", "/api/v1/namespaces",
               R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default"}})");
  gateway_ = without.gateway_with(authenticators_);
  at_ = &without;
  lucas_if(kMarked);
  EXPECT_EQ(create(map("a")).status, 403);
  gateway_.reset();
}

}  // namespace
}  // namespace cardea::rest::pipeline
