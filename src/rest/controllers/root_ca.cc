// root-ca-certificate-publisher-controller: every active namespace has the ConfigMap
// `kube-root-ca.crt`, so that what runs there can verify this server.
#include "base/strings.h"
#include "rest/controllers/controllers.h"
#include "rest/controllers/namespace_content.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {
namespace {

using json::Value;

constexpr std::string_view kName = "kube-root-ca.crt";
constexpr std::string_view kDescription = "kubernetes.io/description";

class RootCaPublisher : public NamespaceContent {
 public:
  RootCaPublisher(ControllerContext context, std::string ca)
      : NamespaceContent(std::move(context), "root-ca-certificate-publisher-controller",
                         "/registry/configmaps/", std::string(kName)),
        data_(Value::object({{"ca.crt", ca}})) {}

 private:
  Task<Result<void>> restore(std::string namespace_name, store::RecordPtr record) override {
    std::string collection = cat("/api/v1/namespaces/", namespace_name, "/configmaps");
    Value object;
    if (record) {
      object = parse_stored(*record);
      bool is_right = object["data"] == data_ && !object.has("binaryData") &&
                      !object["metadata"]["annotations"][kDescription].as_string().empty();
      if (is_right || object["metadata"].has("deletionTimestamp")) co_return Result<void>();
      object.erase("binaryData");
    } else {
      object = Value::object(
          {{"apiVersion", "v1"},
           {"kind", "ConfigMap"},
           {"metadata", Value::object({{"name", kName}, {"namespace", namespace_name}})}});
    }
    object.set("data", data_);
    object.member("metadata")
        .member("annotations")
        .set(
            kDescription,
            "The certificate authority by which clients inside the cluster verify its API server.");
    std::string target = record ? cat(collection, "/", kName) : collection;
    Loopback::Reply reply = co_await api().send(record ? "PUT" : "POST", std::move(target),
                                                std::move(object));
    co_return outcome(reply);
  }

  Value data_;
};

}  // namespace

std::unique_ptr<Controller> root_ca_publisher(ControllerContext context, std::string ca) {
  return std::make_unique<RootCaPublisher>(std::move(context), std::move(ca));
}

}  // namespace cardea::rest
