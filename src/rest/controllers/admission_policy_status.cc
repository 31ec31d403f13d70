// validatingadmissionpolicy-status-controller: writes into the status of each
// ValidatingAdmissionPolicy which of its expressions do not fit the types that its rules name.
#include "admission/policy/policy_type_check.h"
#include "base/strings.h"
#include "rest/controllers/controllers.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {
namespace {

using json::Value;

constexpr std::string_view kPolicies = "/registry/validatingadmissionpolicies/";

class AdmissionPolicyStatus : public Controller {
 public:
  explicit AdmissionPolicyStatus(ControllerContext context)
      : Controller(std::move(context), "validatingadmissionpolicy-status-controller",
                   {.prefixes = {std::string(kPolicies)}}) {}

 private:
  bool cares(const store::Event& event) const override {
    return event.type == store::EventType::kPut;
  }
  void observe(const store::Event& event) override { enqueue(std::string(event.record->key())); }

  Task<Result<void>> reconcile(std::string key) override {
    store::RecordPtr record = store().get(key);
    if (!record) co_return Result<void>();
    const Value policy = parse_stored(*record);
    const Value& generation = policy["metadata"]["generation"];
    if (generation.as_int() <= policy["status"]["observedGeneration"].as_int())
      co_return Result<void>();
    Value checked = Value::object();
    if (Value warnings = admission::type_check(policy["spec"], *context().catalog.get());
        !warnings.empty())
      checked.set("expressionWarnings", std::move(warnings));
    const std::string name(name_in(key));
    Value applied = Value::object(
        {{"apiVersion", "admissionregistration.k8s.io/v1"},
         {"kind", "ValidatingAdmissionPolicy"},
         {"metadata", Value::object({{"name", name}})},
         {"status", Value::object({{"observedGeneration", generation},
                                   {"typeChecking", std::move(checked)}})}});
    std::string target = cat("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/",
                             name,
                             "/status?fieldManager=validatingadmissionpolicy-status&force=true");
    Loopback::Reply reply = co_await api().send("PATCH", std::move(target), std::move(applied),
                                                "application/apply-patch+yaml");
    if (reply.status == 404) co_return Result<void>();
    co_return outcome(reply);
  }
};

}  // namespace

std::unique_ptr<Controller> admission_policy_status(ControllerContext context) {
  return std::make_unique<AdmissionPolicyStatus>(std::move(context));
}

}  // namespace cardea::rest
