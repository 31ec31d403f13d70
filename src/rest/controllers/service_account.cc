// serviceaccount-controller: every active namespace has the ServiceAccount `default`.
#include "base/strings.h"
#include "rest/controllers/controllers.h"
#include "rest/controllers/namespace_content.h"

namespace cardea::rest {
namespace {

using json::Value;

class ServiceAccountController : public NamespaceContent {
 public:
  explicit ServiceAccountController(ControllerContext context)
      : NamespaceContent(std::move(context), "serviceaccount-controller",
                         "/registry/serviceaccounts/", "default") {}

 private:
  // What it holds is its users' business.
  Task<Result<void>> restore(std::string namespace_name, store::RecordPtr record) override {
    if (record) co_return Result<void>();
    Value object = Value::object(
        {{"apiVersion", "v1"},
         {"kind", "ServiceAccount"},
         {"metadata", Value::object({{"name", "default"}, {"namespace", namespace_name}})}});
    std::string target = cat("/api/v1/namespaces/", namespace_name, "/serviceaccounts");
    Loopback::Reply reply = co_await api().send("POST", std::move(target), std::move(object));
    if (reply.status == 409) co_return Result<void>();
    co_return outcome(reply);
  }
};

}  // namespace

std::unique_ptr<Controller> service_account_controller(ControllerContext context) {
  return std::make_unique<ServiceAccountController>(std::move(context));
}

}  // namespace cardea::rest
