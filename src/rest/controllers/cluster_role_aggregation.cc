// clusterrole-aggregation-controller: a ClusterRole with an aggregationRule holds the rules of the
// ClusterRoles it selects.
#include <algorithm>

#include "authz/rbac/aggregation.h"
#include "base/strings.h"
#include "rest/controllers/controllers.h"
#include "rest/controllers/stored_resources.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {
namespace {

using json::Value;

constexpr std::string_view kClusterRoles = "/registry/clusterroles/";
constexpr std::string_view kEverything = "all";  // a change of one role may concern any other:
                                                 // there is one key

class ClusterRoleAggregation : public Controller {
 public:
  explicit ClusterRoleAggregation(ControllerContext context)
      : Controller(std::move(context), "clusterrole-aggregation-controller",
                   {.prefixes = {std::string(kClusterRoles)}}) {}

 private:
  bool cares(const store::Event&) const override { return true; }
  void observe(const store::Event&) override { enqueue(std::string(kEverything)); }

  Task<Result<void>> reconcile(std::string) override {
    auto range = store().range({.keys = store::keys_with_prefix(kClusterRoles)});
    if (!range) co_return fail(range.error());
    std::vector<Value> roles;
    for (const store::RecordPtr& record : range->records) roles.push_back(parse_stored(*record));
    Result<void> result;
    for (const Value& role : roles) {
      if (!role["aggregationRule"].is_object() || stopping()) continue;
      std::vector<Value> rules = authz::rbac::aggregated_rules(role["metadata"]["name"].as_string(),
                                                               roles);
      if (std::ranges::equal(rules, role["rules"].items())) continue;
      Result<void> applied = co_await apply(std::string(role["metadata"]["name"].as_string()),
                                            std::move(rules));
      if (!applied && result) result = std::move(applied);
    }
    co_return result;
  }

  Task<Result<void>> apply(std::string name, std::vector<Value> rules) {
    Value object = Value::object({{"apiVersion", "rbac.authorization.k8s.io/v1"},
                                  {"kind", "ClusterRole"},
                                  {"metadata", Value::object({{"name", name}})},
                                  {"rules", Value::array(std::move(rules))}});
    auto catalog = context().catalog.get();
    const catalog::Resource* r = catalog->find("rbac.authorization.k8s.io", "v1", "clusterroles");
    CARDEA_CHECK(r != nullptr);
    std::string target = cat(path_of(*r, "", name),
                             "?fieldManager=clusterrole-aggregation-controller&force=true");
    Loopback::Reply reply = co_await api().send("PATCH", std::move(target), std::move(object),
                                                "application/apply-patch+yaml");
    if (reply.status == 404) co_return Result<void>();
    co_return outcome(reply);
  }
};

}  // namespace

std::unique_ptr<Controller> cluster_role_aggregation(ControllerContext context) {
  return std::make_unique<ClusterRoleAggregation>(std::move(context));
}

}  // namespace cardea::rest
