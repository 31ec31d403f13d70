// Keeps a ServiceCIDR that is deleted until no address needs it, and says in its status whether
// addresses are given away from it.
#include <map>
#include <set>

#include "base/strings.h"
#include "base/time_parse.h"
#include "catalog/definition.h"
#include "catalog/kinds/core/service_ranges.h"
#include "rest/controllers/controllers.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {
namespace {

using catalog::Ip;
using catalog::ServiceRange;
using json::Value;

constexpr std::string_view kRanges = "/registry/servicecidrs/";
constexpr std::string_view kAddresses = "/registry/ipaddresses/";
constexpr std::string_view kCollection = "/apis/networking.k8s.io/v1/servicecidrs/";
constexpr std::string_view kReady = "Kubernetes Service CIDR is ready";
constexpr std::string_view kTerminating =
    "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new "
    "ServiceCIDR";
constexpr std::string_view kFinalizer = "networking.k8s.io/service-cidr-finalizer";

struct Range {
  std::vector<ServiceRange> parts;
  bool is_leaving = false;
};

bool has_finalizer(const Value& object) {
  for (const Value& f : object["metadata"]["finalizers"].items())
    if (f.as_string() == kFinalizer) return true;
  return false;
}

// A patch that only fits the object as it was read.
Value with_finalizers(const Value& object, bool wanted) {
  Value kept = Value::array();
  for (const Value& f : object["metadata"]["finalizers"].items())
    if (f.as_string() != kFinalizer) kept.push_back(f);
  if (wanted) kept.push_back(kFinalizer);
  Value meta = Value::object({{"finalizers", std::move(kept)},
                              {"resourceVersion", object["metadata"]["resourceVersion"]}});
  return Value::object({{"metadata", std::move(meta)}});
}

class ServiceCidrs : public Controller {
 public:
  explicit ServiceCidrs(ControllerContext context)
      : Controller(std::move(context), "service-cidr-controller",
                   {.prefixes = {std::string(kRanges), std::string(kAddresses)}}) {}

 private:
  bool cares(const store::Event&) const override { return true; }

  void observe(const store::Event& event) override {
    const std::string_view key = event.record->key();
    const bool is_there = event.type == store::EventType::kPut;
    if (key.starts_with(kAddresses)) {
      const auto ip = catalog::parse_ip(key.substr(kAddresses.size()));
      if (!ip) return;
      if (is_there)
        addresses_.insert(*ip);
      else if (addresses_.erase(*ip) == 1)
        look_at_leaving();
      return;
    }
    const std::string name(key.substr(kRanges.size()));
    ranges_.erase(name);
    if (is_there) {
      const Value object = parse_stored(*event.record);
      Range& range = ranges_[name];
      range.is_leaving = is_deleting(object);
      for (const Value& text : object["spec"]["cidrs"].items())
        if (const auto cidr = catalog::parse_cidr(text.as_string()))
          range.parts.emplace_back(*cidr, std::string(text.as_string()), name);
      enqueue(name);
    }
    look_at_leaving();  // another range may have their addresses now, or no longer
  }

  void forget() override {
    ranges_.clear();
    addresses_.clear();
  }

  void look_at_leaving() {
    for (const auto& [name, range] : ranges_)
      if (range.is_leaving) enqueue(name);
  }

  bool is_covered_by_others(const Ip& ip) const {
    for (const auto& [name, range] : ranges_)
      for (const ServiceRange& part : range.parts)
        if (!range.is_leaving && part.covers(ip)) return true;
    return false;
  }

  bool is_needed(const Range& range) const {
    for (const ServiceRange& part : range.parts)
      for (auto at = addresses_.lower_bound(part.network());
           at != addresses_.end() && part.covers(*at); ++at)
        if (!is_covered_by_others(*at)) return true;
    return false;
  }

  Task<Result<void>> set_ready(Value object, bool is_ready) {
    const Value* now = catalog::find_condition(object, "Ready");
    const std::string_view status = is_ready ? "True" : "False";
    const std::string_view message = is_ready ? kReady : kTerminating;
    if (now && (*now)["status"].as_string() == status && (*now)["message"].as_string() == message)
      co_return Result<void>();
    Value condition = Value::object({{"type", "Ready"},
                                     {"status", status},
                                     {"reason", is_ready ? "" : "Terminating"},
                                     {"message", message},
                                     {"lastTransitionTime", rfc3339(context().clock.now())}});
    Value body = Value::object(
        {{"apiVersion", "networking.k8s.io/v1"},
         {"kind", "ServiceCIDR"},
         {"metadata", Value::object({{"name", object["metadata"]["name"]}})},
         {"status", Value::object({{"conditions", Value::array({std::move(condition)})}})}});
    Loopback::Reply reply = co_await api().send(
        "PATCH",
        cat(kCollection, object["metadata"]["name"].as_string(),
            "/status?fieldManager=service-cidr-controller&force=true"),
        std::move(body), "application/apply-patch+yaml");
    co_return reply.status == 404 ? Result<void>() : outcome(reply);
  }

  Task<Result<void>> set_finalizer(Value object, bool wanted) {
    if (has_finalizer(object) == wanted) co_return Result<void>();
    Loopback::Reply reply = co_await api().send(
        "PATCH", cat(kCollection, object["metadata"]["name"].as_string()),
        with_finalizers(object, wanted), "application/merge-patch+json");
    // 409: it was changed meanwhile, and observing that looks again.
    co_return reply.status == 404 || reply.status == 409 ? Result<void>() : outcome(reply);
  }

  Task<Result<void>> reconcile(std::string name) override {
    store::RecordPtr record = store().get(cat(kRanges, name));
    const auto known = ranges_.find(name);
    if (!record || known == ranges_.end()) co_return Result<void>();
    const Value object = parse_stored(*record);
    if (!is_deleting(object)) {
      Result<void> held = co_await set_finalizer(object, true);
      if (!held) co_return held;
      Result<void> told = co_await set_ready(object, true);
      co_return told;
    }
    // Since its deletion is stored, no address is taken from it any more (ServiceNetwork::claims).
    // What was taken before has been observed by now, or will be: then this looks again.
    if (!known->second.is_leaving || !has_finalizer(object)) co_return Result<void>();
    if (is_needed(known->second)) {
      Result<void> told = co_await set_ready(object, false);
      co_return told;
    }
    Result<void> freed = co_await set_finalizer(object, false);
    co_return freed;
  }

  std::map<std::string, Range> ranges_;
  std::set<Ip> addresses_;
};

}  // namespace

std::unique_ptr<Controller> service_cidr_controller(ControllerContext context) {
  return std::make_unique<ServiceCidrs>(std::move(context));
}

}  // namespace cardea::rest
