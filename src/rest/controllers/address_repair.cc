// Every address of a service has its IPAddress, whatever was deleted by hand or stored by an older
// server; and an IPAddress that the server made goes when its service does not have the address.
#include "base/strings.h"
#include "base/time_parse.h"
#include "catalog/kinds/core/service_allocator.h"
#include "catalog/kinds/networking/ip_address.h"
#include "rest/controllers/controllers.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {
namespace {

using catalog::Ip;
using json::Value;

constexpr std::string_view kServices = "/registry/services/specs/";
constexpr std::string_view kAddresses = "/registry/ipaddresses/";
constexpr std::chrono::seconds kBeforeService{60};  // as long as kube-apiserver waits too
constexpr std::string_view kCollection = "/apis/networking.k8s.io/v1/ipaddresses";

std::set<Ip> addresses_in(const store::RecordPtr& service) {
  return service ? catalog::service_addresses(parse_stored(*service)) : std::set<Ip>();
}

// Its keys are those of services and of IPAddresses.
class AddressRepair : public Controller {
 public:
  explicit AddressRepair(ControllerContext context)
      : Controller(std::move(context), "ipallocator-repair-controller",
                   {.prefixes = {std::string(kServices), std::string(kAddresses)}}) {}

 private:
  bool cares(const store::Event&) const override { return true; }

  void observe(const store::Event& event) override {
    const std::string_view key = event.record->key();
    if (key.starts_with(kServices)) {
      if (event.type == store::EventType::kPut) enqueue(std::string(key));
    } else if (event.type == store::EventType::kPut) {
      enqueue(std::string(key));
    } else if (event.previous) {
      const Value parent = parse_stored(*event.previous)["spec"]["parentRef"];
      enqueue(cat(kServices, parent["namespace"].as_string(), "/", parent["name"].as_string()));
    }
  }

  Task<Result<void>> reconcile(std::string key) override {
    Result<void> done;
    if (key.starts_with(kServices))
      done = co_await add_missing(key);
    else
      done = co_await drop_unused(key);
    co_return done;
  }

  Task<Result<void>> add_missing(std::string key) {
    for (const Ip& ip : addresses_in(store().get(key))) {
      if (store().get(cat(kAddresses, ip.text()))) continue;
      Loopback::Reply reply = co_await api().send(
          "POST", std::string(kCollection),
          catalog::ip_address_of_service(ip, namespace_in(key), name_in(key)));
      if (reply.status != 409 && !reply.ok()) co_return outcome(reply);
    }
    co_return Result<void>();
  }

  std::chrono::seconds young_for(const Value& address) const {
    const auto made = parse_rfc3339(address["metadata"]["creationTimestamp"].as_string());
    if (store().is_always_fresh() || !made) return {};
    const auto age = context().clock.now() - to_time_point(*made);
    return std::min(kBeforeService, std::chrono::ceil<std::chrono::seconds>(kBeforeService - age));
  }

  Task<Result<void>> drop_unused(std::string key) {
    store::RecordPtr record = store().get(key);
    if (!record) co_return Result<void>();
    const Value object = parse_stored(*record);
    const auto ip = catalog::parse_ip(name_in(key));
    if (!catalog::is_managed_address(object) || !ip) co_return Result<void>();
    const Value& parent = object["spec"]["parentRef"];
    const std::string service = cat(kServices, parent["namespace"].as_string(), "/",
                                    parent["name"].as_string());
    const store::RecordPtr user = store().get(service);
    if (addresses_in(user).contains(*ip)) co_return Result<void>();
    if (user && !parse_stored(*user)["spec"].is_object())
      co_return fail(internal_error(cat("the service `", service, "` cannot be read")));
    // A kube-apiserver on the same store makes the address before its service.
    if (const auto left = young_for(object); left.count() > 0) {
      enqueue_after(std::move(key), left);
      co_return Result<void>();
    }
    Value only_this = Value::object({{"resourceVersion", std::to_string(record->mod_revision)}});
    Loopback::Reply reply = co_await api().send(
        "DELETE", cat(kCollection, "/", name_in(key)),
        Value::object({{"kind", "DeleteOptions"},
                       {"apiVersion", "v1"},
                       {"preconditions", std::move(only_this)}}));
    if (reply.status == 404 || reply.status == 409) co_return Result<void>();
    co_return outcome(reply);
  }
};

}  // namespace

std::unique_ptr<Controller> address_repair(ControllerContext context) {
  return std::make_unique<AddressRepair>(std::move(context));
}

}  // namespace cardea::rest
