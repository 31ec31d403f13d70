// One APIService for each version of a group that definitions serve, as for the built-in groups.
#include <map>

#include "base/strings.h"
#include "catalog/definition.h"
#include "catalog/kinds/apiregistration/local_api_service.h"
#include "rest/controllers/controllers.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {
namespace {

using json::Value;

constexpr std::string_view kApiServices = "/registry/apiregistration.k8s.io/apiservices/";
constexpr std::string_view
    kDefinitions = "/registry/apiextensions.k8s.io/customresourcedefinitions/";
constexpr std::string_view kCollection = "/apis/apiregistration.k8s.io/v1/apiservices";

// The names of the APIServices that a definition asks for.
std::vector<std::string> names_of(const Value& definition) {
  std::vector<std::string> out;
  const Value* established = catalog::find_condition(definition, "Established");
  if (is_deleting(definition) || !established || (*established)["status"].as_string() != "True")
    return out;
  for (const Value& version : definition["spec"]["versions"].items())
    if (version["served"].as_bool())
      out.push_back(cat(version["name"].as_string(), ".", definition["spec"]["group"].as_string()));
  return out;
}

class LocalApiServices : public Controller {
 public:
  explicit LocalApiServices(ControllerContext context)
      : Controller(std::move(context), "crd-registration-controller",
                   {.prefixes = {std::string(kApiServices), std::string(kDefinitions)}}) {}

 private:
  bool cares(const store::Event&) const override { return true; }

  void observe(const store::Event& event) override {
    const std::string_view key = event.record->key();
    if (key.starts_with(kApiServices)) return enqueue(std::string(key.substr(kApiServices.size())));
    std::vector<std::string> now;
    if (event.type == store::EventType::kPut) now = names_of(parse_stored(*event.record));
    std::vector<std::string>& before = of_definition_[std::string(key)];
    for (const std::string& name : now) ++wanted_[name];
    for (const std::string& name : before)
      if (--wanted_[name] == 0) wanted_.erase(name);
    for (const auto* names : {&before, &now})
      for (const std::string& name : *names) enqueue(name);
    before = std::move(now);
    if (before.empty()) of_definition_.erase(std::string(key));
  }

  Task<Result<void>> reconcile(std::string name) override {
    store::RecordPtr record = store().get(cat(kApiServices, name));
    const bool is_wanted = wanted_.contains(name);
    if (!record && is_wanted) {
      Value object = catalog::api_service_of_definition(name);
      Loopback::Reply reply = co_await api().send("POST", std::string(kCollection),
                                                  std::move(object));
      co_return reply.status == 409 ? Result<void>() : outcome(reply);
    }
    if (!record || is_wanted) co_return Result<void>();
    // An APIService of somebody else, or of a built-in group, stays.
    if (!catalog::is_of_definition(parse_stored(*record))) co_return Result<void>();
    Loopback::Reply reply = co_await api().send("DELETE", cat(kCollection, "/", name));
    co_return reply.status == 404 ? Result<void>() : outcome(reply);
  }

  std::map<std::string, std::vector<std::string>> of_definition_;  // by key
  std::map<std::string, int> wanted_;  // how many definitions ask for an APIService
};

}  // namespace

std::unique_ptr<Controller> local_api_services(ControllerContext context) {
  return std::make_unique<LocalApiServices>(std::move(context));
}

}  // namespace cardea::rest
