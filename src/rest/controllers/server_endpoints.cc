// Which servers live, as kube-apiserver tells it: a key for each that etcd deletes when it is not
// renewed, and the Endpoints of `default/kubernetes` made from them.
#include <set>

#include "base/strings.h"
#include "rest/controllers/controllers.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {
namespace {

using json::Value;

constexpr std::string_view kDefault = "/registry/namespaces/default";
constexpr std::string_view kSlices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
constexpr std::string_view kEndpoints = "/api/v1/namespaces/default/endpoints";
constexpr std::string_view kServiceName = "kubernetes";
constexpr std::chrono::seconds kRenewServer{5};  // a third of kServerTerm

class ServerEndpoints : public Controller {
 public:
  ServerEndpoints(ControllerContext context, std::string address, std::uint16_t port)
      : Controller(std::move(context), "kubernetes-service-endpoints",
                   {.prefixes = {std::string(kDefault), std::string(kLiveServers)},
                    .longest_delay = kRenewServer}),
        key_(cat(kLiveServers, address)),
        address_(std::move(address)),
        port_(port) {}

 private:
  bool cares(const store::Event& event) const override {
    return event.record->key() == kDefault || event.record->key().starts_with(kLiveServers);
  }
  // A server that came or went; renewals change nothing.
  void observe(const store::Event& event) override {
    if (event.record->key() == kDefault || !event.previous ||
        event.type == store::EventType::kDelete)
      enqueue(key_);
  }

  Task<Result<void>> reconcile(std::string key) override {
    Result<store::Commit> renewed = co_await renew();
    if (!renewed) co_return fail(renewed.error());
    if (!store().get(kDefault)) co_return Result<void>();
    const std::set<std::string> live = addresses();
    Result<void> told = co_await ensure(std::string(kEndpoints), endpoints_of(live), {"subsets"});
    if (told) told = co_await ensure(std::string(kSlices), slice_of(live), {"endpoints", "ports"});
    enqueue_after(std::move(key), kRenewServer);
    co_return told;
  }

  Task<Result<store::Commit>> renew() {
    Value lease = Value::object(
        {{"kind", "Endpoints"},
         {"apiVersion", "v1"},
         {"metadata", Value::object()},
         {"subsets",
          Value::array({Value::object({{"addresses", Value::array({ip(address_)})}})})}});
    net::Loop& loop = context().loop;
    Result<store::Commit> answer = co_await await_callback<Result<store::Commit>>([&](auto done) {
      store().commit(
          {{}, {store::Put{key_, stored_bytes(lease)}}},
          [&loop, done](Result<store::Commit> written) mutable {
            loop.post([done, written = std::move(written)]() mutable { done(std::move(written)); });
          });
    });
    co_return answer;
  }

  // Of the servers that live. This one does.
  std::set<std::string> addresses() const {
    std::set<std::string> out{address_};
    if (auto range = store().range({.keys = store::keys_with_prefix(kLiveServers)}))
      for (const store::RecordPtr& record : range->records) out.emplace(name_in(record->key()));
    return out;
  }

  static Value ip(std::string_view address) { return Value::object({{"ip", address}}); }
  Value ports() const {
    return Value::array({Value::object(
        {{"name", "https"}, {"port", static_cast<int>(port_)}, {"protocol", "TCP"}})});
  }

  Value endpoints_of(const std::set<std::string>& live) const {
    Value all = Value::array();
    for (const std::string& address : live) all.push_back(ip(address));
    Value subset = Value::object({{"addresses", std::move(all)}, {"ports", ports()}});
    Value labels = Value::object({{"endpointslice.kubernetes.io/skip-mirror", "true"}});
    return Value::object(
        {{"apiVersion", "v1"},
         {"kind", "Endpoints"},
         {"metadata", Value::object({{"name", kServiceName}, {"labels", std::move(labels)}})},
         {"subsets", Value::array({std::move(subset)})}});
  }

  // A slice has addresses of one family: those of this server's.
  Value slice_of(const std::set<std::string>& live) const {
    const bool is_six = address_.contains(':');
    Value all = Value::array();
    for (const std::string& address : live)
      if (address.contains(':') == is_six)
        all.push_back(Value::object({{"addresses", Value::array({address})},
                                     {"conditions", Value::object({{"ready", true}})}}));
    Value labels = Value::object({{"kubernetes.io/service-name", kServiceName}});
    return Value::object(
        {{"apiVersion", "discovery.k8s.io/v1"},
         {"kind", "EndpointSlice"},
         {"metadata", Value::object({{"name", kServiceName}, {"labels", std::move(labels)}})},
         {"addressType", is_six ? "IPv6" : "IPv4"},
         {"endpoints", std::move(all)},
         {"ports", ports()}});
  }

  // Another server may write the same: a conflict is tried again.
  Task<Result<void>> ensure(std::string collection, Value wanted,
                            std::vector<std::string_view> members) {
    const std::string path = cat(collection, "/", kServiceName);
    Loopback::Reply found = co_await api().send("GET", path, Value());
    if (!found.ok() && found.status != 404) co_return outcome(found);
    bool is_same = found.ok();
    Value next = found.ok() ? found.body : wanted;
    for (std::string_view member : members) {
      is_same = is_same && found.body[member] == wanted[member];
      next.set(member, wanted[member]);
    }
    if (is_same) co_return Result<void>();
    std::string method = found.ok() ? "PUT" : "POST";
    std::string target = found.ok() ? path : std::move(collection);
    Loopback::Reply reply = co_await api().send(std::move(method), std::move(target),
                                                std::move(next));
    co_return outcome(reply);
  }

  const std::string key_;
  const std::string address_;
  const std::uint16_t port_;
};

}  // namespace

std::unique_ptr<Controller> server_endpoints(ControllerContext context, std::string address,
                                             std::uint16_t port) {
  return std::make_unique<ServerEndpoints>(std::move(context), std::move(address), port);
}

}  // namespace cardea::rest
