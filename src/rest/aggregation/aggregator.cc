#include "rest/aggregation/aggregator.h"

#include <algorithm>

#include "base/strings.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {
namespace {

constexpr std::size_t kMostIdle = 64;    // HTTP/1.1 connections of one loop to one server
constexpr std::size_t kMostShared = 64;  // HTTP/2 connections of one loop: watches take streams
constexpr std::size_t kMostChecked = 32u << 20;  // of a document that the server itself reads

bool is_same_way(const ApiService& a, const ApiService& b) {
  return a.service == b.service && a.authorities == b.authorities && a.is_insecure == b.is_insecure;
}

std::string key_of(std::string_view group, std::string_view version) {
  return cat(group, "/", version);
}

}  // namespace

bool is_built_in(const catalog::Catalog& catalog, std::string_view group,
                 std::string_view version) {
  for (const catalog::Group& g : catalog.all_groups()) {
    if (g.name != group) continue;
    for (const catalog::Version& v : g.versions)
      if (v.name == version &&
          std::ranges::any_of(v.resources, [](const auto* r) { return !r->is_custom; }))
        return true;
  }
  return false;
}

Result<std::shared_ptr<Wires>> Wires::make(const ApiService& service,
                                           const AggregationSettings& settings,
                                           const std::vector<net::Loop*>& loops,
                                           net::Dialer& dialer) {
  net::TlsClientConfig config{.server_cas = service.authorities,
                              .certificates = settings.client_certificate,
                              .key = settings.client_key,
                              .insecure_skip_verify = service.is_insecure};
  auto shared = net::TlsClient::make(config);
  if (!shared) return fail(shared.error());
  config.protocols = {"http/1.1"};
  auto for_upgrades = net::TlsClient::make(config);
  if (!for_upgrades) return fail(for_upgrades.error());
  auto out = std::make_shared<Wires>();
  out->for_upgrades_ = std::move(*for_upgrades);
  const http::ClientOptions options{
      .max_body = kMostChecked,
      .max_idle = kMostIdle,
      .max_shared = kMostShared,
      .connect_timeout = settings.connect_timeout,
      .admits = [rules = settings.addresses](const std::string& a) { return rules.admits(a); }};
  for (net::Loop* loop : loops)
    out->clients_.emplace_back(loop,
                               std::make_unique<http::Client>(*loop, dialer, *shared, options));
  return out;
}

http::Client& Wires::client(const net::Loop& loop) const {
  for (const auto& [of, client] : clients_)
    if (of == &loop) return *client;
  CARDEA_CHECK(false);
  return *clients_.front().second;
}

Aggregator::Aggregator(AggregationSettings settings, std::vector<net::Loop*> loops,
                       net::Loop& chores, net::Dialer& dialer)
    : settings_(std::move(settings)), loops_(std::move(loops)), chores_(chores), dialer_(dialer) {}

Aggregator::~Aggregator() {
  for (const auto& weak : wires_)
    if (auto wires = weak.lock()) wires->close();
}

std::shared_ptr<const Remote> Aggregator::find(std::string_view group,
                                               std::string_view version) const {
  const std::shared_ptr<const Table>& table = table_.get();
  if (table->remotes.empty() || group.empty()) return nullptr;
  const auto at = table->remotes.find(key_of(group, version));
  return at == table->remotes.end() ? nullptr : at->second;
}

std::shared_ptr<const Remote> Aggregator::find(const authz::RequestInfo& info) const {
  if (table_.get()->remotes.empty()) return nullptr;
  if (info.is_resource_request) {
    // Nobody was asked whether this user may have a resource without a name.
    const bool is_named = info.api_prefix == "apis" && !info.resource.empty();
    return is_named ? find(info.api_group, info.api_version) : nullptr;
  }
  auto parts = split(std::string_view(info.path).substr(std::min<std::size_t>(1, info.path.size())),
                     '/');
  if (parts.size() >= 2 && parts[0] == "openapi" && parts[1] == "v3")
    parts.erase(parts.begin(), parts.begin() + 2);
  if (parts.size() == 4 && parts[3].empty()) parts.pop_back();  // a slash at the end
  return parts.size() == 3 && parts[0] == "apis" ? find(parts[1], parts[2]) : nullptr;
}

Result<void> Aggregator::load(const store::Store& store, const catalog::Catalog& catalog) {
  auto range = store.range({.keys = store::keys_with_prefix(std::string(kApiServicePrefix))});
  if (!range) return fail(range.error());
  for (const store::RecordPtr& record : range->records)
    set(read_api_service(parse_stored(*record)), catalog);
  return {};
}

void Aggregator::set(ApiService service, const catalog::Catalog& catalog) {
  Entry& entry = entries_[service.name];
  const bool goes_out = service.service && !service.group.empty() &&
                        !is_built_in(catalog, service.group, service.version);
  // Local to everybody who reads the table.
  if (!goes_out) service.service.reset();
  std::shared_ptr<Remote> remote;
  if (goes_out) {
    remote = std::make_shared<Remote>();
    if (entry.remote && is_same_way(entry.remote->service, service)) {
      *remote = *entry.remote;
    } else {
      entry.described.documents = {};
      auto loops = loops_;
      loops.push_back(&chores_);
      auto wires = Wires::make(service, settings_, loops, dialer_);
      std::erase_if(wires_, [](const auto& weak) { return weak.expired(); });
      if (wires) {
        wires_.push_back(*wires);
        remote->wires = std::move(*wires);
      } else {
        remote->broken = wires.error().message;
      }
    }
    remote->service = service;
    remote->is_available = service.is_available;
  }
  entry.described.service = std::move(service);
  entry.remote = std::move(remote);
  publish();
}

void Aggregator::erase(const std::string& name) {
  if (entries_.erase(name) > 0) publish();
}

void Aggregator::found(const std::string& name, std::vector<Target> targets, bool is_available,
                       BackendDocuments documents) {
  const auto at = entries_.find(name);
  if (at == entries_.end() || !at->second.remote) return;
  auto next = std::make_shared<Remote>(*at->second.remote);
  next->targets = std::move(targets);
  next->is_available = next->service.is_available = is_available;
  at->second.remote = std::move(next);
  at->second.described.documents = std::move(documents);
  at->second.described.service.is_available = is_available;
  publish();
}

std::shared_ptr<const Remote> Aggregator::remote_named(const std::string& name) const {
  const auto at = entries_.find(name);
  return at == entries_.end() ? nullptr : at->second.remote;
}

const BackendDocuments* Aggregator::documents_of(const std::string& name) const {
  const auto at = entries_.find(name);
  return at == entries_.end() ? nullptr : &at->second.described.documents;
}

void Aggregator::publish() {
  auto next = std::make_shared<Table>();
  for (const auto& [name, entry] : entries_) {
    next->all.push_back(entry.described);
    if (entry.remote)
      next->remotes.emplace(key_of(entry.described.service.group, entry.described.service.version),
                            entry.remote);
  }
  if (!next->remotes.empty()) next->generation = ++generation_;
  table_.set(std::move(next));
}

}  // namespace cardea::rest
