// cluster_authentication_trust_controller: the ConfigMap from which extension servers learn whose
// certificates and headers to believe. It follows the flags of this server.
#include "base/strings.h"
#include "rest/controllers/controllers.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {
namespace {

using json::Value;

constexpr std::string_view
    kKey = "/registry/configmaps/kube-system/extension-apiserver-authentication";
constexpr std::string_view kSystemConfigMaps = "/api/v1/namespaces/kube-system/configmaps";
constexpr std::string_view kName = "extension-apiserver-authentication";

class AuthenticationPublisher : public Controller {
 public:
  AuthenticationPublisher(ControllerContext context, AuthenticationFacts facts)
      : Controller(std::move(context), "cluster_authentication_trust_controller",
                   {.prefixes = {std::string(kKey)}}),
        facts_(std::move(facts)) {}

 private:
  bool cares(const store::Event& event) const override { return event.record->key() == kKey; }
  void observe(const store::Event&) override { enqueue(std::string(kName)); }

  Task<Result<void>> reconcile(std::string) override {
    store::RecordPtr record = store().get(kKey);
    Value object = record ? parse_stored(*record)
                          : Value::object({{"apiVersion", "v1"},
                                           {"kind", "ConfigMap"},
                                           {"metadata", Value::object({{"name", kName}})}});
    // What others have added stays; what this server says is put right.
    Value data = object["data"].is_object() ? object["data"] : Value::object();
    bool is_same = record != nullptr;
    for (const auto& [key, text] : facts_) {
      is_same = is_same && data[key].as_string() == text;
      data.set(key, text);
    }
    if (is_same) co_return Result<void>();
    object.set("data", std::move(data));
    const bool is_new = record == nullptr;
    Loopback::Reply reply = co_await api().send(
        is_new ? "POST" : "PUT",
        is_new ? std::string(kSystemConfigMaps) : cat(kSystemConfigMaps, "/", kName),
        std::move(object));
    co_return outcome(reply);
  }

  const AuthenticationFacts facts_;
};

}  // namespace

std::unique_ptr<Controller> authentication_publisher(ControllerContext context,
                                                     AuthenticationFacts facts) {
  return std::make_unique<AuthenticationPublisher>(std::move(context), std::move(facts));
}

}  // namespace cardea::rest
