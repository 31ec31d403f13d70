#include "base/strings.h"
#include "catalog/definition.h"
#include "catalog/kinds/strategies.h"
#include "rest/controllers/controllers.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {
namespace {

using json::Value;

constexpr std::string_view kApiServices = "/registry/apiregistration.k8s.io/apiservices/";

class ApiServiceAvailability : public Controller {
 public:
  explicit ApiServiceAvailability(ControllerContext context)
      : Controller(std::move(context), "apiservice-status-available-controller",
                   {.prefixes = {std::string(kApiServices)}}) {}

 private:
  bool cares(const store::Event& event) const override {
    return event.type == store::EventType::kPut;
  }
  void observe(const store::Event& event) override {
    enqueue(std::string(event.record->key().substr(kApiServices.size())));
  }

  Task<Result<void>> reconcile(std::string name) override {
    store::RecordPtr record = store().get(cat(kApiServices, name));
    if (!record) co_return Result<void>();
    Value object = parse_stored(*record);
    if (object["spec"]["service"].is_null() || catalog::find_condition(object, "Available"))
      co_return Result<void>();
    Value condition = catalog::api_service_unavailable(object, rfc3339(context().clock.now()));
    object.set("status", Value::object({{"conditions", Value::array({condition})}}));
    std::string target = cat("/apis/apiregistration.k8s.io/v1/apiservices/", name, "/status");
    Loopback::Reply reply = co_await api().send("PUT", std::move(target), std::move(object));
    co_return outcome(reply);
  }
};

}  // namespace

std::unique_ptr<Controller> api_service_availability(ControllerContext context) {
  return std::make_unique<ApiServiceAvailability>(std::move(context));
}

}  // namespace cardea::rest
