// Tells in the status of each access policy whether it is in force, and what is doubtful about its
// expression in each version of what its rules name.
#include "authz/access/policy.h"
#include "base/strings.h"
#include "feeds/access_type_check.h"
#include "rest/controllers/controllers.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {
namespace {

using json::Value;

constexpr std::string_view kCluster = "/registry/access.cardea.dev/clusteraccesspolicies/";
constexpr std::string_view kNamespaced = "/registry/access.cardea.dev/accesspolicies/";

// A condition, keeping the time of the last change where nothing changed.
Value condition(const Value& status, std::string_view type, bool holds, std::string_view reason,
                const std::string& message, const Value& generation, const std::string& now) {
  Value out = Value::object({{"type", type},
                             {"status", holds ? "True" : "False"},
                             {"reason", reason},
                             {"message", message},
                             {"observedGeneration", generation},
                             {"lastTransitionTime", now}});
  for (const Value& old : status["conditions"].items())
    if (old["type"].as_string() == type && old["status"] == out["status"])
      out.set("lastTransitionTime", old["lastTransitionTime"]);
  return out;
}

class AccessPolicyStatus : public Controller {
 public:
  explicit AccessPolicyStatus(ControllerContext context)
      : Controller(std::move(context), "access-policy-status-controller",
                   {.prefixes = {std::string(kCluster), std::string(kNamespaced)}}) {}

 private:
  bool cares(const store::Event& event) const override {
    return event.type == store::EventType::kPut;
  }
  void observe(const store::Event& event) override { enqueue(std::string(event.record->key())); }

  Task<Result<void>> reconcile(std::string key) override {
    store::RecordPtr record = store().get(key);
    if (!record) co_return Result<void>();
    Value object = parse_stored(*record);
    const Value& generation = object["metadata"]["generation"];
    if (!object["status"].is_null() && object["status"]["observedGeneration"] == generation)
      co_return Result<void>();
    std::string space = key.starts_with(kNamespaced) ? std::string(namespace_in(key)) : "";
    std::string name(name_in(key));
    authz::access::Policy policy(space, name, object);
    std::vector<std::string> doubts = feeds::type_warnings(policy, object,
                                                           *context().catalog.get());
    std::string now = rfc3339(context().clock.now());
    const Value& status = object["status"];
    bool compiles = policy.problem().empty();
    std::string said = compiles ? "in force"
                       : policy.effect() == authz::access::Policy::Effect::kDeny
                           ? cat("denies all that its subjects and rules select, since the "
                                 "expression does not compile: ",
                                 policy.problem())
                           : cat("never matches, since the expression does not compile: ",
                                 policy.problem());
    Value conditions = Value::array({condition(
        status, "Ready", compiles, compiles ? "Compiled" : "CompileError", said, generation, now)});
    if (compiles)
      conditions.push_back(condition(
          status, "TypeChecked", doubts.empty(), doubts.empty() ? "NoWarnings" : "Warnings",
          doubts.empty() ? "the expression fits what the rules name" : join(doubts, "\n"),
          generation, now));
    object.set("status", Value::object({{"observedGeneration", generation},
                                        {"conditions", std::move(conditions)}}));
    std::string target = space.empty()
                             ? cat("/apis/access.cardea.dev/v1alpha1/clusteraccesspolicies/", name,
                                   "/status")
                             : cat("/apis/access.cardea.dev/v1alpha1/namespaces/", space,
                                   "/accesspolicies/", name, "/status");
    Loopback::Reply reply = co_await api().send("PUT", std::move(target), std::move(object));
    if (reply.status == 404) co_return Result<void>();
    co_return outcome(reply);
  }
};

}  // namespace

std::unique_ptr<Controller> access_policy_status(ControllerContext context) {
  return std::make_unique<AccessPolicyStatus>(std::move(context));
}

}  // namespace cardea::rest
