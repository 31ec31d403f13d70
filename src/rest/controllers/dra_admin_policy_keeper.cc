// Puts the policy `dra-admin-access` back when somebody deletes or changes it.
#include "base/strings.h"
#include "rest/boot/dra_admin_policy.h"
#include "rest/controllers/controllers.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {
namespace {

using json::Value;

constexpr std::string_view
    kStoredPolicy = "/registry/access.cardea.dev/clusteraccesspolicies/dra-admin-access";

class DraAdminPolicyKeeper : public Controller {
 public:
  explicit DraAdminPolicyKeeper(ControllerContext context)
      : Controller(
            std::move(context), "dra-admin-policy-controller",
            {.prefixes = {std::string(kStoredPolicy)}, .longest_delay = std::chrono::seconds(2)}) {}

 private:
  bool cares(const store::Event& event) const override {
    return event.record->key() == kStoredPolicy;
  }

  void observe(const store::Event&) override { enqueue(std::string(kDraAdminPolicy)); }

  Task<Result<void>> reconcile(std::string name) override {
    const store::RecordPtr record = store().get(std::string(kStoredPolicy));
    if (!record) {
      Loopback::Reply made = co_await api().send("POST", std::string(kClusterAccessPolicies),
                                                 dra_admin_policy());
      co_return made.status == 409 ? Result<void>() : outcome(made);
    }
    Value object = parse_stored(*record);
    // What the server stores for our policy, its defaults included. Anything else is a change.
    if (!kept_.is_null() && object["spec"] == kept_) co_return Result<void>();
    object.set("spec", dra_admin_policy()["spec"]);
    Loopback::Reply reply = co_await api().send("PUT", cat(kClusterAccessPolicies, "/", name),
                                                std::move(object));
    if (reply.ok()) kept_ = reply.body["spec"];
    co_return outcome(reply);
  }

  Value kept_;  // null: not known yet
};

}  // namespace

std::unique_ptr<Controller> dra_admin_policy_keeper(ControllerContext context) {
  return std::make_unique<DraAdminPolicyKeeper>(std::move(context));
}

}  // namespace cardea::rest
