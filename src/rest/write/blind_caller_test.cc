// Two worlds that differ in one value, and callers that may not read it: for every request both
// worlds must give the same answer.
#include "rest/write/blind_caller.h"

#include <gtest/gtest.h>

#include <set>

#include "base/strings.h"
#include "json/print.h"
#include "rest/testing/test_server.h"

namespace cardea::rest {
namespace {

using authz::Decision;
using json::Value;

// Allows the verbs in `allowed` ("patch", "create pods/eviction"), some of them on a condition with
// the given outcome.
class Role : public authz::Authorizer {
 public:
  std::string_view name() const override { return "role"; }
  std::optional<Decision> authorize(const authz::Attributes& a) const override {
    if (allowed.contains(std::string(a.verb))) return Decision::allow();
    if (!a.subresource.empty() && allowed.contains(cat(a.verb, " ", a.subresource)))
      return Decision::allow();
    if (conditional.contains(std::string(a.verb)))
      return authz::conditional_on(
          {.conditions = {
               {.effect = authz::Condition::Effect::kAllow, .id = "only-if", .description = {}}}});
    return Decision::no_opinion();
  }
  Task<Decision> evaluate(std::shared_ptr<const authz::Conditions>,
                          const authz::ConditionData&) const override {
    co_return settled;
  }

  std::set<std::string> allowed, conditional;
  Decision settled = Decision::no_opinion();
};

struct Caller {
  std::set<std::string> allowed, conditional;
  bool is_settled_well = false;
};

struct Request {
  const char* method;
  std::string target, body = "", type = "application/json";
};

class World {
 public:
  World() {
    server.send("POST", "/api/v1/namespaces",
                R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default"}})");
  }

  std::shared_ptr<Role> role = std::make_shared<Role>();
  TestServer server{{}, {role}, true};
  Loopback jane{server.gateway(), server.loop(), {.name = "jane"}, "jane"};
};

// Values that differ between any two servers, whatever they contain.
Value comparable(const Value& value) {
  if (value.is_array()) {
    Value out = Value::array();
    for (const Value& item : value.items()) out.push_back(comparable(item));
    return out;
  }
  if (!value.is_object()) return value;
  Value out = Value::object();
  for (const json::Member& m : value.members())
    out.set(m.key(), m.key() == "uid" ? Value("(uid)") : comparable(m.value));
  return out;
}

std::string shown(const Loopback::Reply& reply) {
  return cat(reply.status, " ", json::print(comparable(reply.body)), " ",
             join(reply.warnings, "|"));
}

constexpr const char* kMerge = "application/merge-patch+json";
constexpr const char* kStrategic = "application/strategic-merge-patch+json";
constexpr const char* kJson = "application/json-patch+json";
constexpr const char* kApply = "application/apply-patch+yaml";

// One kind of object with a value, "1111" or "2222", and the place of the value.
struct Secret {
  std::string collection, kind, version;
  std::string rest;     // JSON members of the object; VALUE stands for the value
  std::string pointer;  // the path of the value
  std::string merge;    // a document with nothing but the value
};

const Secret kSecrets[] = {
    {"/api/v1/namespaces/default/configmaps", "ConfigMap", "v1",
     R"("data":{"pin":"VALUE","other":"x"})", "/data/pin", R"({"data":{"pin":"VALUE"}})"},
    {"/api/v1/namespaces/default/secrets", "Secret", "v1",
     R"("type":"Opaque","data":{"pin":"VALUE"})", "/data/pin", R"({"data":{"pin":"VALUE"}})"},
    {"/api/v1/namespaces/default/configmaps", "ConfigMap", "v1",
     R"("labels":{"pin":"VALUE","app":"a"})", "/metadata/labels/pin",
     R"({"metadata":{"labels":{"pin":"VALUE"}}})"},
    {"/api/v1/namespaces/default/configmaps", "ConfigMap", "v1",
     R"("annotations":{"example.com/pin":"VALUE"})", "/metadata/annotations/example.com~1pin",
     R"({"metadata":{"annotations":{"example.com/pin":"VALUE"}}})"},
    // A field that can change. Only the stored value can decide that a value may not change.
    {"/apis/apps/v1/namespaces/default/daemonsets", "DaemonSet", "apps/v1",
     R"("spec":{"selector":{"matchLabels":{"a":"b"}},)"
     R"("template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i",)"
     R"("env":[{"name":"A","value":"VALUE"}]}]}}})",
     "/spec/template/spec/containers/0/env/0/value",
     R"({"spec":{"template":{"spec":{"containers":[{"name":"c","image":"i",)"
     R"("env":[{"name":"A","value":"VALUE"}]}]}}}})"},
    {"/api/v1/namespaces/default/pods", "Pod", "v1", R"("annotations":{"pin":"VALUE"})",
     "/metadata/annotations/pin", R"({"metadata":{"annotations":{"pin":"VALUE"}}})"},
    {"/apis/apps/v1/namespaces/default/deployments", "Deployment", "apps/v1",
     R"("spec":{"replicas":VALUE,"selector":{"matchLabels":{"a":"b"}},)"
     R"("template":{"metadata":{"labels":{"a":"b"}},)"
     R"("spec":{"containers":[{"name":"c","image":"i"}]}}})",
     "/spec/replicas", R"({"spec":{"replicas":VALUE}})"},
};

std::string with(std::string text, std::string_view word, std::string_view value) {
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + value.size()))
    text.replace(at, word.size(), value);
  return text;
}

std::string object_text(const Secret& s, std::string_view value, std::string_view more_meta = "") {
  bool is_meta = s.rest.starts_with("\"labels") || s.rest.starts_with("\"annotations");
  return with(
      cat(R"({"apiVersion":")", s.version, R"(","kind":")", s.kind, R"(","metadata":{"name":"x")",
          more_meta, is_meta ? "," + s.rest : "", "}", is_meta ? "" : "," + s.rest,
          s.kind == "Pod" ? R"(,"spec":{"containers":[{"name":"c","image":"i"}]})" : "", "}"),
      "VALUE", value);
}

// Every request by which a caller could find out whether the value is 1111.
std::vector<Request> guesses(const Secret& s) {
  const std::string at = s.collection + "/x", guess = "1111";
  const std::string merge = with(s.merge, "VALUE", guess),
                    quoted_guess = s.kind == "Deployment" ? guess : cat("\"", guess, "\"");
  auto op = [&](std::string_view text) {
    return with(with(std::string(text), "AT", s.pointer), "GUESS", quoted_guess);
  };
  std::string config = object_text(s, guess);
  std::vector<Request> out = {
      {"PATCH", at, op(R"([{"op":"test","path":"AT","value":GUESS}])"), kJson},
      {"PATCH", at,
       op(R"([{"op":"test","path":"AT","value":GUESS},{"op":"add","path":"/metadata/labels",)"
          R"("value":{"mine":"1"}}])"),
       kJson},
      {"PATCH", at, op(R"([{"op":"copy","from":"AT","path":"/metadata/labels/app"}])"), kJson},
      {"PATCH", at, op(R"([{"op":"copy","from":"AT","path":"/metadata/annotations"}])"), kJson},
      {"PATCH", at, op(R"([{"op":"move","from":"AT","path":"/metadata/finalizers"}])"), kJson},
      {"PATCH", at, op(R"([{"op":"copy","from":"","path":"/metadata/labels/all"}])"), kJson},
      {"PATCH", at, op(R"([{"op":"replace","path":"AT","value":GUESS}])"), kJson},
      {"PATCH", at, op(R"([{"op":"add","path":"AT","value":GUESS}])"), kJson},
      {"PATCH", at, op(R"([{"op":"remove","path":"AT"}])"), kJson},
      {"PATCH", at, op(R"([{"op":"add","path":"AT/deeper","value":GUESS}])"), kJson},
      {"PATCH", at, op(R"([{"op":"replace","path":"","value":{}}])"), kJson},
      {"PATCH", at, R"([{"op":"add","path":"/metadata/labels","value":{"mine":"1"}}])", kJson},
      {"PATCH", at, R"([{"op":"add","path":"/metadata/labels","value":{"mine":"not a label!"}}])",
       kJson},
      {"PATCH", at, merge, kMerge},
      {"PATCH", at + "?dryRun=All", merge, kMerge},
      {"PATCH", at, R"({"metadata":{"labels":{"mine":"1"}}})", kMerge},
      {"PATCH", at, R"({"metadata":{"labels":{"mine":"not a label!"}}})", kMerge},
      {"PATCH", at, R"({"metadata":{"labels":null,"annotations":null}})", kMerge},
      {"PATCH", at, R"({"metadata":{"uid":"wrong"}})", kMerge},
      {"PATCH", at, R"({"metadata":{"resourceVersion":"1"}})", kMerge},
      {"PATCH", at, R"({"metadata":null})", kMerge},
      {"PATCH", at, R"({"spec":"text","data":7})", kMerge},
      {"PATCH", at, merge, kStrategic},
      {"PATCH", at, R"({"metadata":{"labels":{"$patch":"replace"}}})", kStrategic},
      {"PATCH", at, R"({"spec":{"$setElementOrder/containers":[{"name":"c"}]}})", kStrategic},
      {"PATCH", at, R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["a/b"]}})", kStrategic},
      {"PATCH", at,
       cat(R"({"$retainKeys":["apiVersion","kind","metadata","data","type","spec"],)",
           merge.substr(1)),
       kStrategic},
      {"PATCH", at, cat(R"({"$patch":"merge",)", merge.substr(1)), kStrategic},
      {"PATCH", at, cat(R"({"$patch":"replace",)", merge.substr(1)), kStrategic},
      {"PATCH", at, R"([{"op":"remove","path":"/metadata/managedFields/0/fieldsV1/f:data/f:pin"}])",
       kJson},
      {"PATCH", at, R"([{"op":"remove","path":"/metadata/deletionTimestamp"}])", kJson},
      {"PATCH", at, R"([{"op":"remove","path":"/metadata/labels/1111"}])", kJson},
      {"PATCH", at + "?fieldManager=m", config, kApply},
      {"PATCH", at + "?fieldManager=test&force=true",
       cat(R"({"apiVersion":")", s.version, R"(","kind":")", s.kind,
           R"(","metadata":{"name":"x","labels":{"mine":"1"}}})"),
       kApply},
      {"PATCH", at + "?fieldManager=m&force=true", config, kApply},
      {"PATCH", at + "?fieldManager=kubectl", config, kApply},
      {"PATCH", at + "?fieldManager=m&dryRun=All&force=true", config, kApply},
      {"PUT", at, config},
      {"PUT", at + "?dryRun=All", config},
      {"PUT", at, object_text(s, guess, R"(,"uid":"wrong")")},
      {"PUT", at, object_text(s, guess, R"(,"resourceVersion":"1")")},
      {"PUT", at,
       cat(R"({"apiVersion":")", s.version, R"(","kind":")", s.kind,
           R"(","metadata":{"name":"x"}})")},
      {"PATCH", at + "/status", merge, kMerge},
      {"PUT", at + "/status", config},
      {"DELETE", at, ""},
      {"DELETE", at + "?dryRun=All", ""},
      {"DELETE", at,
       R"({"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"wrong"}})"},
      {"DELETE", at,
       R"({"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"resourceVersion":"1"}})"},
      {"DELETE", at,
       R"({"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Foreground"})"},
      {"DELETE", s.collection, ""},
      {"DELETE", s.collection + "?dryRun=All", ""},
      {"DELETE", s.collection + "?dryRun=All&labelSelector=pin%3D1111", ""},
      {"DELETE", s.collection,
       R"({"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"wrong"}})"},
      {"POST", s.collection, config},
  };
  if (s.kind == "Deployment") {
    out.push_back({"PATCH", at + "/scale", R"({"spec":{"replicas":1111}})", kMerge});
    out.push_back({"PATCH", at + "/scale", R"([{"op":"remove","path":"/spec/replicas"}])", kJson});
    out.push_back(
        {"PATCH", at + "/scale", R"([{"op":"test","path":"/spec/replicas","value":1111}])", kJson});
    out.push_back({"PUT", at + "/scale",
                   R"({"apiVersion":"autoscaling/v1","kind":"Scale",)"
                   R"("metadata":{"name":"x","namespace":"default"},"spec":{"replicas":1111}})"});
    out.push_back({"PATCH", at + "/scale?fieldManager=m",
                   R"({"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"x"},)"
                   R"("spec":{"replicas":1111}})",
                   kApply});
  }
  if (s.kind == "Pod") {
    out.push_back({"POST", at + "/eviction",
                   R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"x"},)"
                   R"("deleteOptions":{"preconditions":{"uid":"wrong"}}})"});
    out.push_back({"POST", at + "/eviction",
                   R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"x"}})"});
    out.push_back({"PATCH", at + "/ephemeralcontainers", merge, kStrategic});
    out.push_back({"PATCH", at + "/resize", merge, kStrategic});
  }
  return out;
}

const Caller kCallers[] = {
    {{"granular"}, {}},
    {{"granular", "granular:labels"}, {}},
    {{"granular", "granular:label(mine)", "granular:finalizers"}, {}},
    {{"granular", "granular:metadata"}, {}},
    {{"granular", "granular:annotations", "granular:finalizers"}, {}},
    {{"granular", "granular:data", "granular:status", "granular:replicaCount"}, {}},
    {{"granular", "granular:specification"}, {}},
    {{"granular", "granular:identity", "granular:metadata", "granular:specification",
      "granular:data", "granular:status", "granular:replicaCount"},
     {}},
    {{}, {"update", "patch", "delete", "deletecollection"}, false},
    {{}, {"update", "patch", "delete", "deletecollection"}, true},
    {{"granular", "granular:labels"}, {"update", "patch"}, false},
    {{"granular"},
     {"granular:labels", "granular:data", "granular:specification", "granular:metadata"},
     false},
    {{"granular"},
     {"granular:labels", "granular:data", "granular:specification", "granular:metadata"},
     true},
    {{"delete", "deletecollection", "create eviction"}, {}},
};

TEST(BlindCallers, LearnNothingFromAnyAnswer) {
  World one, two;
  int answers = 0, refusals = 0;
  for (const Secret& secret : kSecrets)
    for (std::size_t c = 0; c < std::size(kCallers); ++c)
      for (const Request& request : guesses(secret)) {
        std::string said[2];
        std::size_t i = 0;
        for (World* world : {&one, &two}) {
          const char* value = i == 0 ? "1111" : "2222";
          ASSERT_EQ(
              world->server.send("POST", secret.collection, object_text(secret, value)).status, 201)
              << object_text(secret, value);
          world->role->allowed = kCallers[c].allowed;
          world->role->conditional = kCallers[c].conditional;
          world->role->settled = kCallers[c].is_settled_well ? Decision::allow()
                                                             : Decision::no_opinion();
          Value body;
          if (!request.body.empty()) body = *json::parse(request.body);
          Loopback::Reply reply = world->jane.send_and_wait(request.method, request.target, body,
                                                            request.type);
          (reply.ok() ? answers : refusals)++;
          said[i++] = shown(reply);
          // The object is deleted, whatever its state, in the same number of steps in both worlds.
          world->server.send("PATCH", secret.collection + "/x",
                             R"({"metadata":{"finalizers":null}})", kMerge);
          world->server.send(
              "DELETE", secret.collection + "/x",
              R"({"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0})");
          ASSERT_EQ(world->server.send("GET", secret.collection + "/x").status, 404);
        }
        EXPECT_EQ(said[0], said[1]) << "caller " << c << ": " << request.method << " "
                                    << request.target << " " << request.body;
      }
  // The comparison would prove little if nothing or everything were refused.
  EXPECT_GT(answers, 200);
  EXPECT_GT(refusals, 1000);
}

// Refuses everything that is not the test's own. The message quotes the object and has the given
// reason.
class Quoting : public admission::Plugin {
 public:
  explicit Quoting(const Reason& reason) : reason_(reason) {}
  std::string_view name() const override { return "Quoting"; }
  bool handles(const admission::Review& review) const override {
    return review.user.name == "jane";
  }
  Task<Result<void>> validate(const admission::Review& review) const override {
    const Value& object = review.old_object ? *review.old_object : review.object;
    review.warnings.push_back(json::print(object));
    co_return fail(Error::of(reason_, json::print(object))
                       .with({.name = json::print(object),
                              .causes = {{"Quoted", json::print(object), "data"}}}));
  }

 private:
  const Reason& reason_;
};

std::vector<std::unique_ptr<admission::Plugin>> only(std::unique_ptr<admission::Plugin> plugin) {
  std::vector<std::unique_ptr<admission::Plugin>> out;
  out.push_back(std::move(plugin));
  return out;
}

TEST(BlindCallers, ReadNoRefusalThatQuotesTheObjectWhateverItsReason) {
  Reason reason = Reason::kUnknown;
  auto role = std::make_shared<Role>();
  TestServer server(only(std::make_unique<Quoting>(reason)), {role}, true);
  Loopback jane{server.gateway(), server.loop(), {.name = "jane"}, "jane"};
  server.send("POST", "/api/v1/namespaces",
              R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default"}})");
  const std::string path = "/api/v1/namespaces/default/configmaps";
  ASSERT_EQ(server
                .send("POST", path,
                      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},)"
                      R"("data":{"pin":"hidden-4711"}})")
                .status,
            201);
  role->allowed = {"granular", "granular:labels", "delete", "deletecollection"};
  for (Reason r :
       {Reason::kForbidden, Reason::kNotFound, Reason::kConflict, Reason::kInvalid,
        Reason::kBadRequest, Reason::kTooManyRequests, Reason::kInternalError,
        Reason::kServiceUnavailable, Reason::kTimeout, Reason::kGone, Reason::kUnknown}) {
    reason = r;
    for (const char* method : {"PATCH", "DELETE"}) {
      Value body = std::string_view(method) == "PATCH"
                       ? *json::parse(R"({"metadata":{"labels":{"a":"b"}}})")
                       : Value();
      Loopback::Reply reply = jane.send_and_wait(method, path + "/x", body, kMerge);
      EXPECT_GE(reply.status, 400);
      EXPECT_EQ(shown(reply).find("hidden"), std::string::npos) << method << " " << shown(reply);
    }
    EXPECT_EQ(shown(jane.send_and_wait("DELETE", path)).find("hidden"), std::string::npos);
  }
  role->allowed = {"patch", "get"};
  EXPECT_NE(
      shown(jane.send_and_wait("PATCH", path + "/x", *json::parse("{}"), kMerge)).find("hidden"),
      std::string::npos)
      << "who may read it is told";
}

TEST(BlindCallers, AreThoseTooToWhomReadingIsDenied) {
  class DeniesGet : public authz::Authorizer {
   public:
    std::string_view name() const override { return "denies-get"; }
    std::optional<Decision> authorize(const authz::Attributes& a) const override {
      return a.verb == "get" ? Decision::deny("no reading") : Decision::allow();
    }
    bool may_deny() const override { return true; }
  };
  TestServer server({}, {std::make_shared<DeniesGet>()});
  Loopback jane{server.gateway(), server.loop(), {.name = "jane"}, "jane"};
  server.send("POST", "/api/v1/namespaces",
              R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default"}})");
  const std::string path = "/api/v1/namespaces/default/configmaps";
  ASSERT_EQ(server
                .send("POST", path,
                      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},)"
                      R"("data":{"pin":"hidden-4711"}})")
                .status,
            201);
  Loopback::Reply reply = jane.send_and_wait("PATCH", path + "/x", *json::parse("{}"), kMerge);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(shown(reply).find("hidden"), std::string::npos) << shown(reply);
}

}  // namespace
}  // namespace cardea::rest
