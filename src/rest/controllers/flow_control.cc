// Keeps the FlowSchemas and PriorityLevelConfigurations that every server has, and says in the
// status of each FlowSchema whether its level is there.
#include <map>
#include <set>

#include "base/strings.h"
#include "catalog/definition.h"
#include "catalog/kinds/strategies.h"
#include "rest/controllers/controllers.h"
#include "rest/fairness/feed.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {
namespace {

using fairness::kLevelsPrefix;
using fairness::kSchemasPrefix;
using json::Value;

constexpr std::string_view kGroup = "/apis/flowcontrol.apiserver.k8s.io/v1/";
constexpr std::string_view kAutoUpdate = "apf.kubernetes.io/autoupdate-spec";
constexpr std::string_view kManager = "api-priority-and-fairness-config-consumer-v1";

std::string collection_of(std::string_view key) {
  return cat(kGroup,
             key.starts_with(kSchemasPrefix) ? "flowschemas" : "prioritylevelconfigurations");
}

bool follows_server(const Value& object) {
  const std::string_view name = object["metadata"]["name"].as_string();
  return name == fairness::kExempt || name == fairness::kCatchAll ||
         object["metadata"]["annotations"][kAutoUpdate].as_string() == "true";
}

// What an owner may choose on an object of the server: how much of `exempt` is lent.
bool is_same_spec(const Value& stored, const Value& wanted) {
  return stored == wanted || wanted["type"].as_string() == "Exempt";
}

class FlowControl : public Controller {
 public:
  explicit FlowControl(ControllerContext context)
      : Controller(std::move(context), "flow-control-config",
                   {.prefixes = {std::string(kLevelsPrefix), std::string(kSchemasPrefix)}}) {
    for (Value& object : catalog::bootstrap_flow_control("")) {
      object.erase("status");
      const bool is_schema = object["kind"].as_string() == "FlowSchema";
      std::string key = cat(is_schema ? kSchemasPrefix : kLevelsPrefix,
                            object["metadata"]["name"].as_string());
      own_.emplace(std::move(key), std::move(object));
    }
  }

 private:
  bool cares(const store::Event&) const override { return true; }

  void observe(const store::Event& event) override {
    const std::string key(event.record->key());
    const bool is_there = event.type == store::EventType::kPut;
    if (key.starts_with(kSchemasPrefix)) {
      is_there ? (void)schemas_.insert(key) : (void)schemas_.erase(key);
    } else {
      const bool is_good = is_there && fairness::LevelSpec::read(parse_stored(*event.record));
      const bool changed = is_good ? levels_.insert(key).second : levels_.erase(key) > 0;
      if (changed)
        for (const std::string& schema : schemas_) enqueue(schema);
    }
    enqueue(key);
  }

  void forget() override {
    schemas_.clear();
    levels_.clear();
  }

  Task<Result<void>> keep(std::string key, const Value& wanted, store::RecordPtr record) {
    Loopback::Reply reply;
    if (!record) {
      reply = co_await api().send("POST", collection_of(key), wanted);
    } else {
      Value object = parse_stored(*record);
      if (!follows_server(object) || is_same_spec(object["spec"], wanted["spec"]))
        co_return Result<void>();
      object.set("spec", wanted["spec"]);
      reply = co_await api().send(
          "PUT", cat(collection_of(key), "/", object["metadata"]["name"].as_string()),
          std::move(object));
    }
    // 409: it was made or changed meanwhile, and observing that looks again.
    co_return reply.status == 409 || reply.status == 404 ? Result<void>() : outcome(reply);
  }

  Task<Result<void>> tell(const Value& object) {
    const std::string_view level = object["spec"]["priorityLevelConfiguration"]["name"].as_string();
    const bool is_found = levels_.contains(cat(kLevelsPrefix, level));
    const std::string_view status = is_found ? "False" : "True";
    const std::string message = cat(
        "This FlowSchema references the PriorityLevelConfiguration "
        "object named ",
        quoted(level), is_found ? " and it exists" : " but there is no such object");
    const Value* now = catalog::find_condition(object, "Dangling");
    if (now && (*now)["status"].as_string() == status && (*now)["message"].as_string() == message)
      co_return Result<void>();
    Value condition = Value::object({{"type", "Dangling"},
                                     {"status", status},
                                     {"reason", is_found ? "Found" : "NotFound"},
                                     {"message", message},
                                     {"lastTransitionTime", rfc3339(context().clock.now())}});
    Value body = Value::object(
        {{"apiVersion", "flowcontrol.apiserver.k8s.io/v1"},
         {"kind", "FlowSchema"},
         {"metadata", Value::object({{"name", object["metadata"]["name"]}})},
         {"status", Value::object({{"conditions", Value::array({std::move(condition)})}})}});
    Loopback::Reply reply = co_await api().send(
        "PATCH",
        cat(kGroup, "flowschemas/", object["metadata"]["name"].as_string(),
            "/status?fieldManager=", kManager, "&force=true"),
        std::move(body), "application/apply-patch+yaml");
    co_return reply.status == 404 ? Result<void>() : outcome(reply);
  }

  Task<Result<void>> reconcile(std::string key) override {
    store::RecordPtr record = store().get(key);
    if (auto own = own_.find(key); own != own_.end()) {
      Result<void> kept = co_await keep(key, own->second, record);
      if (!kept) co_return kept;
    }
    if (!record || !key.starts_with(kSchemasPrefix)) co_return Result<void>();
    Value object = parse_stored(*record);
    Result<void> told = co_await tell(object);
    co_return told;
  }

  std::map<std::string, Value> own_;  // by key
  std::set<std::string> schemas_, levels_;
};

}  // namespace

std::unique_ptr<Controller> flow_control_config(ControllerContext context) {
  return std::make_unique<FlowControl>(std::move(context));
}

}  // namespace cardea::rest
