// resourcequota-controller: counts what quotas limit. Admission charges what is created; this gives
// back what is deleted or ended, and makes the first count of a new quota.
#include <map>

#include "admission/plugins/quota_usage.h"
#include "base/strings.h"
#include "rest/controllers/controllers.h"
#include "rest/controllers/stored_resources.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {
namespace {

using admission::Amounts;
using json::Value;

constexpr std::string_view kQuotas = "/registry/resourcequotas/";
// What uses less without being deleted.
constexpr std::string_view kShrinking[] = {
    "/registry/services/specs/", "/registry/persistentvolumeclaims/", "/registry/resourceclaims/"};

bool has_ended(const store::RecordPtr& pod) {
  std::string_view text = pod->value();
  return text.find("\"phase\":\"Succeeded\"") != text.npos ||
         text.find("\"phase\":\"Failed\"") != text.npos;
}

class ResourceQuotaController : public Controller {
 public:
  explicit ResourceQuotaController(ControllerContext context)
      : Controller(context, "resourcequota-controller", {.prefixes = {"/registry/"}}),
        resources_(context.catalog) {}

 private:
  bool cares(const store::Event& event) const override {
    std::string_view key = event.record->key();
    if (key.starts_with(kQuotas) || event.type == store::EventType::kDelete) return true;
    if (!event.previous) return false;
    if (key.starts_with("/registry/pods/"))
      return has_ended(event.record) && !has_ended(event.previous);
    for (std::string_view prefix : kShrinking)
      if (key.starts_with(prefix)) return true;
    return false;
  }

  void observe(const store::Event& event) override {
    std::string_view key = event.record->key();
    std::string space(namespace_in(key));
    if (key.starts_with(kQuotas)) {
      bool is_new = event.type == store::EventType::kPut && !event.previous;
      if (is_new) ++quotas_[space];
      if (event.type == store::EventType::kDelete && --quotas_[space] <= 0) quotas_.erase(space);
    }
    if (quotas_.contains(space)) enqueue(std::move(space));
  }

  void forget() override { quotas_.clear(); }

  Task<Result<void>> reconcile(std::string space) override {
    auto quotas = store().range({.keys = store::keys_with_prefix(cat(kQuotas, space, "/"))});
    if (!quotas) co_return fail(quotas.error());
    for (const store::RecordPtr& record : quotas->records) {
      if (stopping()) break;
      Value quota = parse_stored(*record);
      // All as of one revision: whatever is charged later changes the quota too, and then this
      // count is refused.
      Result<Value> status = count(quota, space, quotas->revision);
      if (!status) co_return fail(status.error());
      if (is_same(*status, quota["status"])) continue;
      quota.set("status", std::move(*status));
      std::string target = cat("/api/v1/namespaces/", space, "/resourcequotas/",
                               quota["metadata"]["name"].as_string(), "/status");
      Loopback::Reply reply = co_await api().send("PUT", std::move(target), quota);
      if (reply.status == 404) continue;
      if (auto ok = outcome(reply); !ok) co_return ok;
    }
    co_return Result<void>();
  }

  Result<Value> count(const Value& quota, const std::string& space, store::Revision at) {
    resources_.refresh();
    std::string now = rfc3339(context().clock.now());
    Amounts hard = admission::read_amounts(quota["spec"]["hard"]), used;
    for (const catalog::Resource* r : resources_.all()) {
      if (!r->namespaced) continue;
      bool concerns = false;
      for (const auto& [name, amount] : hard)
        if (admission::is_charged_as(*r, name)) {
          used.try_emplace(name);
          concerns = true;
        }
      if (!concerns) continue;
      auto objects = store().range(
          {.keys = store::keys_with_prefix(cat(r->storage_prefix, space, "/")), .at = at});
      if (!objects) return fail(objects.error());
      for (const store::RecordPtr& record : objects->records) {
        Value object = parse_stored(*record);
        if (!admission::in_scopes(quota, *r, object)) continue;
        for (const auto& [name, amount] : admission::usage_of(*r, object, now))
          if (auto entry = used.find(name); entry != used.end()) entry->second += amount;
      }
    }
    return Value::object(
        {{"hard", quota["spec"]["hard"]}, {"used", admission::write_amounts(used)}});
  }

  static bool is_same(const Value& a, const Value& b) {
    return admission::read_amounts(a["hard"]) == admission::read_amounts(b["hard"]) &&
           admission::read_amounts(a["used"]) == admission::read_amounts(b["used"]);
  }

  StoredResources resources_;
  std::map<std::string, int> quotas_;  // how many each namespace has
};

}  // namespace

std::unique_ptr<Controller> resource_quota_controller(ControllerContext context) {
  return std::make_unique<ResourceQuotaController>(std::move(context));
}

}  // namespace cardea::rest
