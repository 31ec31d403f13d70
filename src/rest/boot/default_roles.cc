#include "rest/boot/default_roles.h"

#include <future>
#include <memory>

#include "authz/rbac/bootstrap_policy.h"
#include "base/strings.h"

namespace cardea::rest {
namespace {

using json::Value;

constexpr std::string_view kApi = "/apis/rbac.authorization.k8s.io/v1";

std::string collection_of(const Value& object) {
  std::string_view where = object["metadata"]["namespace"].as_string();
  return cat(kApi, where.empty() ? std::string() : cat("/namespaces/", where), "/",
             lower(object["kind"].as_string()), "s");
}

Result<void> outcome_of(const Loopback::Reply& reply, const std::string& path) {
  if (reply.ok()) return {};
  return fail(internal_error(cat("reconciling ", path, ": ", reply.body["message"].as_string())));
}

// Kubernetes 1.8 and older kept the rules of admin, edit and view in these roles themselves.
// Changed rules move to the role that is aggregated into them.
Result<void> prime_aggregated(const Loopback& api) {
  for (std::string_view name : {"admin", "edit", "view"}) {
    std::string roles = cat(kApi, "/clusterroles");
    std::string part = cat("system:aggregate-to-", name);
    if (api.send_and_wait("GET", cat(roles, "/", part)).ok()) continue;
    Loopback::Reply old = api.send_and_wait("GET", cat(roles, "/", name));
    if (!old.ok() || !old.body["aggregationRule"].is_null()) continue;
    Value object = old.body;
    object.set("metadata", Value::object({{"name", part},
                                          {"labels", old.body["metadata"]["labels"]},
                                          {"annotations", old.body["metadata"]["annotations"]}}));
    if (auto ok = outcome_of(api.send_and_wait("POST", roles, object), cat(roles, "/", part)); !ok)
      return ok;
  }
  return {};
}

Task<Result<void>> reconcile_one(const Loopback& api, Value expected) {
  std::string collection = collection_of(expected);
  std::string path = cat(collection, "/", expected["metadata"]["name"].as_string());
  Loopback::Reply existing = co_await api.send("GET", path);
  if (existing.status == 404) {
    Loopback::Reply created = co_await api.send("POST", collection, expected);
    co_return outcome_of(created, path);
  }
  if (!existing.ok()) co_return outcome_of(existing, path);
  if (authz::rbac::is_protected(existing.body)) co_return Result<void>();
  std::optional<authz::rbac::Reconciled> change = authz::rbac::reconcile(expected, existing.body);
  if (!change) co_return Result<void>();
  if (!change->replaces) {
    Loopback::Reply updated = co_await api.send("PUT", path, change->object);
    co_return outcome_of(updated, path);
  }
  Loopback::Reply deleted = co_await api.send("DELETE", path);
  if (!deleted.ok()) co_return outcome_of(deleted, path);
  Loopback::Reply made_anew = co_await api.send("POST", collection, change->object);
  co_return outcome_of(made_anew, path);
}

// A server that asks this one about access gets conditions, and sends them back to be settled.
void let_delegators_settle(std::vector<Value>& policy) {
  for (Value& object : policy)
    if (object["metadata"]["name"].as_string() == "system:auth-delegator" &&
        object["kind"].as_string() == "ClusterRole")
      object.member("rules").push_back(
          Value::object({{"apiGroups", Value::array({"authorization.k8s.io"})},
                         {"resources", Value::array({"authorizationconditionsreviews"})},
                         {"verbs", Value::array({"create"})}}));
}

// All at once, so that the store syncs them together. Belongs to the loop.
struct Progress {
  std::size_t left;
  Result<void> result;
  std::promise<Result<void>> done;

  void finish(Result<void> one) {
    if (!one && result) result = std::move(one);
    if (--left == 0) done.set_value(std::move(result));
  }
};

}  // namespace

Result<void> reconcile_default_roles(const Loopback& api, bool conditional_authorization) {
  if (auto ok = prime_aggregated(api); !ok) return ok;
  std::vector<Value> policy = authz::rbac::bootstrap_policy();
  if (conditional_authorization) let_delegators_settle(policy);
  auto progress = std::make_shared<Progress>(
      Progress{.left = policy.size(), .result = {}, .done = {}});
  std::future<Result<void>> done = progress->done.get_future();
  api.loop().post([&api, policy = std::move(policy), progress] {
    for (const Value& expected : policy)
      spawn(reconcile_one(api, expected),
            [progress](Result<void> one) { progress->finish(std::move(one)); });
  });
  return done.get();
}

}  // namespace cardea::rest
