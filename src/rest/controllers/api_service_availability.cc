// The condition `Available` of APIServices, and with it what the aggregator knows of the servers
// behind them: where they are, and how they describe themselves.
#include <map>
#include <set>

#include "base/strings.h"
#include "json/parse.h"
#include "rest/aggregation/aggregator.h"
#include "rest/controllers/controllers.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {
namespace {

using json::Value;

constexpr std::string_view kServicePrefix = "/registry/services/specs/";
constexpr std::string_view kSlices = "/registry/endpointslices/";
constexpr std::chrono::milliseconds kRecheck{30'000};
constexpr std::chrono::milliseconds kCheckTimeout{5'000};
constexpr std::size_t kAtOnce = 8;  // a server that hangs does not keep the others waiting

class ApiServiceAvailability : public Controller {
 public:
  explicit ApiServiceAvailability(ControllerContext context)
      : Controller(std::move(context), "apiservice-status-available-controller",
                   {.prefixes = {std::string(kApiServicePrefix), std::string(kServicePrefix),
                                 std::string(kSlices)},
                    .workers = kAtOnce}) {}

 private:
  bool cares(const store::Event&) const override { return true; }

  void observe(const store::Event& event) override {
    const std::string_view key = event.record->key();
    if (key.starts_with(kApiServicePrefix))
      return observe_api_service(std::string(key.substr(kApiServicePrefix.size())), event);
    const std::string_view space = namespace_in(key);
    if (!key.starts_with(kSlices)) return enqueue_for(space, name_in(key));
    // The name of a slice does not say which service it is of, and most namespaces have none that
    // matters.
    if (!named_.contains(std::string(space))) return;
    const store::RecordPtr& slice = event.type == store::EventType::kPut ? event.record
                                                                         : event.previous;
    if (!slice) return enqueue_for(space, "");
    const Value object = parse_stored(*slice);
    for (const auto& [service, names] : named_[std::string(space)])
      if (is_slice_of(object, service)) enqueue_for(space, service);
  }

  void observe_api_service(const std::string& name, const store::Event& event) {
    const auto known = references_.find(name);
    if (known != references_.end()) {
      auto& services = named_[known->second.namespace_name];
      services[known->second.name].erase(name);
      if (services[known->second.name].empty()) services.erase(known->second.name);
      if (services.empty()) named_.erase(known->second.namespace_name);
      references_.erase(known);
    }
    if (event.type == store::EventType::kPut) {
      ApiService service = read_api_service(parse_stored(*event.record));
      if (service.service) {
        references_.emplace(name, *service.service);
        named_[service.service->namespace_name][service.service->name].insert(name);
      }
      if (Aggregator* aggregator = context().aggregator)
        aggregator->set(std::move(service), *context().catalog.get());
    } else if (Aggregator* aggregator = context().aggregator) {
      aggregator->erase(name);
    }
    enqueue(name);
  }

  // An empty name stands for all services of the namespace.
  void enqueue_for(std::string_view space, std::string_view service) {
    const auto at = named_.find(std::string(space));
    if (at == named_.end()) return;
    for (const auto& [name, api_services] : at->second)
      if (service.empty() || service == name)
        for (const std::string& one : api_services) enqueue(one);
  }

  Task<Result<void>> reconcile(std::string name) override {
    store::RecordPtr record = store().get(cat(kApiServicePrefix, name));
    if (!record) co_return Result<void>();
    const Value object = parse_stored(*record);
    const ApiService service = read_api_service(object);
    if (!service.service) {
      Result<void> written = co_await write(
          name, object, {"True", "Local", "Local APIServices are always available"});
      co_return written;
    }
    Checked checked = co_await check(service);
    if (context().aggregator)
      context().aggregator->found(name, std::move(checked.targets), checked.availability.is_true(),
                                  std::move(checked.documents));
    Result<void> written = co_await write(name, object, checked.availability);
    if (!written) co_return written;
    // Asked again: what is behind a service changes without a word to this server.
    if (checked.failure) co_return fail(*checked.failure);
    if (!stopping()) enqueue_after(name, kRecheck);
    co_return Result<void>();
  }

  Task<Result<void>> write(std::string name, Value object, Availability availability) {
    auto next = with_availability(object, availability, rfc3339(context().clock.now()));
    if (!next) co_return Result<void>();
    std::string target = cat("/apis/apiregistration.k8s.io/v1/apiservices/", name, "/status");
    Loopback::Reply reply = co_await api().send("PUT", std::move(target), std::move(*next));
    co_return reply.status == 404 ? Result<void>() : outcome(reply);
  }

  struct Checked {
    Availability availability;
    std::vector<Target> targets = {};
    BackendDocuments documents = {};
    std::optional<Error> failure = {};  // worth another attempt soon
  };

  Task<Checked> check(ApiService service) {
    const ServiceReference& reference = *service.service;
    if (is_built_in(*context().catalog.get(), service.group, service.version) ||
        service.group.empty())
      co_return Checked{{"False", "BuiltIn",
                         cat("this server itself serves ", service.version, " of ",
                             quoted(service.group), "; it is not handed on")}};
    Value found;
    if (store::RecordPtr record = store().get(
            cat(kServicePrefix, reference.namespace_name, "/", reference.name)))
      found = parse_stored(*record);
    const std::vector<Value> slices = slices_of(reference);
    if (auto wrong = without_service(reference, found, slices))
      co_return Checked{std::move(*wrong)};
    Checked called = co_await call(std::move(service), found, slices);
    co_return called;
  }

  std::vector<Value> slices_of(const ServiceReference& reference) const {
    std::vector<Value> out;
    auto range = store().range(
        {.keys = store::keys_with_prefix(cat(kSlices, reference.namespace_name, "/"))});
    if (!range) return out;
    for (const store::RecordPtr& record : range->records)
      if (Value slice = parse_stored(*record); is_slice_of(slice, reference.name))
        out.push_back(std::move(slice));
    return out;
  }

  static Checked failed(std::string why) {
    Checked out{failed_check(why)};
    out.failure = Error::of(Reason::kServiceUnavailable, std::move(why));
    return out;
  }

  Task<Checked> call(ApiService service, Value object, std::vector<Value> slices) {
    const Aggregator* aggregator = context().aggregator;
    const auto remote = aggregator ? aggregator->remote_named(service.name) : nullptr;
    if (!remote) co_return Checked{failed_check("this server hands on no requests")};
    if (!remote->wires) co_return Checked{failed_check(remote->broken)};
    auto targets = targets_of(object, slices, service.service->port,
                              aggregator->settings().by_endpoints);
    if (!targets) co_return failed(targets.error().message);
    const Target target = (*targets)[0];
    const std::string path = cat("/apis/", service.group, "/", service.version);
    Result<http::Answer> answer = co_await get(*remote, target, path, "");
    const std::string shown = cat("https://", target.host, ":", target.port, path);
    const std::string from = cat("failing or missing response from ", shown, ": ");
    if (!answer) co_return failed(cat(from, answer.error().message));
    if (answer->status < 200 || answer->status > 299)
      co_return failed(cat(from, "bad status from ", shown, ": ", answer->status));
    Checked out{passed(), std::move(*targets)};
    if (const BackendDocuments* known = aggregator->documents_of(service.name))
      out.documents = *known;
    auto list = json::parse(answer->body);
    auto resources = list ? discovered_resources(*list) : fail(list.error());
    out.documents.is_current = resources.has_value();
    if (resources) out.documents.resources = std::move(*resources);
    bool read = co_await read_openapi(*remote, target, out.documents);
    (void)read;
    co_return out;
  }

  // What the server lacks is left out: its resources work without it.
  Task<bool> read_openapi(const Remote& remote, Target target, BackendDocuments& documents) {
    if (stopping()) co_return false;
    Result<http::Answer> v3 = co_await get(remote, target, "/openapi/v3", "");
    if (v3 && v3->status == 200)
      if (auto index = json::parse(v3->body))
        documents.openapi_v3 = openapi_v3_entry(*index, remote.service);
    if (stopping()) co_return false;
    Result<http::Answer> v2 = co_await get(remote, target, "/openapi/v2",
                                           documents.openapi_v2_etag);
    if (v2 && v2->status == 200)
      if (auto document = json::parse(v2->body)) {
        documents.openapi_v2 = std::move(*document);
        documents.openapi_v2_etag = v2->headers.get("etag");
      }
    co_return true;
  }

  Task<Result<http::Answer>> get(const Remote& remote, Target target, std::string path,
                                 std::string etag) {
    http::Call call{.url = cat("https://", remote.service.server_name(), ":", target.port, path),
                    .headers = {{"Accept", "application/json"},
                                {"X-Remote-User", "system:kube-aggregator"},
                                {"X-Remote-Group", "system:masters"}},
                    .timeout = kCheckTimeout,
                    .connect_host = target.host,
                    .connect_port = target.port};
    if (!etag.empty()) call.headers.add("If-None-Match", etag);
    http::Client& client = remote.wires->client(context().loop);
    Result<http::Answer> answer = co_await await_callback<Result<http::Answer>>([&](auto done) {
      client.send(std::move(call),
                  [done](Result<http::Answer> got) mutable { done(std::move(got)); });
    });
    co_return answer;
  }

  std::map<std::string, ServiceReference> references_;  // of each APIService that has one
  // By namespace and name of a service.
  std::map<std::string, std::map<std::string, std::set<std::string>>> named_;
};

}  // namespace

std::unique_ptr<Controller> api_service_availability(ControllerContext context) {
  return std::make_unique<ApiServiceAvailability>(std::move(context));
}

}  // namespace cardea::rest
