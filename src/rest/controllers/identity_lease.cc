// The Lease by which others see that this server lives, as kube-apiserver has it.
#include "base/strings.h"
#include "base/time_parse.h"
#include "rest/controllers/controllers.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {
namespace {

using json::Value;

constexpr std::string_view kNamespace = "/registry/namespaces/kube-system";
constexpr std::string_view kLeases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
constexpr std::string_view kStored = "/registry/leases/kube-system/apiserver-";
constexpr std::string_view kLabel = "apiserver.kubernetes.io/identity";
constexpr std::chrono::seconds kDuration{3600};
constexpr std::chrono::seconds kRenewal{10};

class IdentityLease : public Controller {
 public:
  IdentityLease(ControllerContext context, ServerIdentity identity)
      : Controller(std::move(context), "kube-apiserver-identity-lease-controller",
                   {.prefixes = {std::string(kNamespace)}, .longest_delay = kRenewal}),
        identity_(std::move(identity)) {}

 private:
  bool cares(const store::Event& event) const override {
    return event.record->key() == kNamespace && event.type == store::EventType::kPut;
  }
  void observe(const store::Event&) override { enqueue(identity_.name); }

  Task<Result<void>> reconcile(std::string name) override {
    store::RecordPtr record = store().get(cat("/registry/leases/kube-system/", name));
    Value lease = record ? parse_stored(*record) : Value::object();
    describe(lease);
    std::string method = record ? "PUT" : "POST";
    std::string target = record ? cat(kLeases, "/", name) : std::string(kLeases);
    Loopback::Reply reply = co_await api().send(std::move(method), std::move(target),
                                                std::move(lease));
    if (!reply.ok()) co_return outcome(reply);
    Result<void> removed = co_await send_all(deletions_of_expired());
    enqueue_after(std::move(name), kRenewal);
    co_return removed;
  }

  void describe(Value& lease) const {
    lease.set("apiVersion", "coordination.k8s.io/v1");
    lease.set("kind", "Lease");
    Value& metadata = lease.member("metadata");
    metadata.set("name", identity_.name);
    metadata.set("namespace", "kube-system");
    metadata.set("labels", Value::object({{kLabel, "kube-apiserver"},
                                          {"kubernetes.io/hostname", identity_.host_name}}));
    if (!identity_.address.empty())
      metadata.set("annotations",
                   Value::object({{"kubernetes.io/peer-advertise-address", identity_.address}}));
    lease.set("spec", Value::object({{"holderIdentity", identity_.holder},
                                     {"leaseDurationSeconds", kDuration.count()},
                                     {"renewTime", rfc3339_micro(context().clock.now())}}));
  }

  // Servers that ended an hour ago and more.
  std::vector<Order> deletions_of_expired() const {
    std::vector<Order> out;
    auto range = store().range({.keys = store::keys_with_prefix(kStored)});
    if (!range) return out;
    const std::string oldest = rfc3339_micro(context().clock.now() - kDuration);
    for (const store::RecordPtr& record : range->records) {
      const Value lease = parse_stored(*record);
      if (lease["metadata"]["labels"][kLabel].as_string() != "kube-apiserver") continue;
      auto renewed = parse_rfc3339_micro(lease["spec"]["renewTime"].as_string());
      if (renewed && print_rfc3339_micro(*renewed) >= oldest) continue;
      out.push_back({"DELETE", cat(kLeases, "/", name_in(record->key())), Value()});
    }
    return out;
  }

  const ServerIdentity identity_;
};

}  // namespace

std::unique_ptr<Controller> identity_lease(ControllerContext context, ServerIdentity identity) {
  return std::make_unique<IdentityLease>(std::move(context), std::move(identity));
}

}  // namespace cardea::rest
