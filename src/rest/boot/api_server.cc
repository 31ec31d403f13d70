#include "rest/boot/api_server.h"

#include <map>

#include "authn/service_account/tokens.h"
#include "base/strings.h"
#include "net/watchdog.h"
#include "rest/bridge/bridge.h"
#include "rest/memory_budget.h"
#include "rest/policy/dry_deletion.h"
#include "rest/policy/master_namespace.h"
#include "rest/process_metrics.h"

namespace cardea::rest {
namespace {

// What requests may hold in memory. A body has at most 3 MiB; a list can have a hundred times that.
constexpr std::size_t kBodiesOfOneUser = 64u << 20, kBodies = 256u << 20;
constexpr std::size_t kAnswersOfOneUser = 128u << 20, kAnswers = 512u << 20;

// Plugins with their own resources.
std::vector<std::string> catalog_features(const Features& features) {
  std::vector<std::string> out;
  if (features.conditional_authorization) out.emplace_back("ConditionalAuthorization");
  if (features.fine_grained_authorization) out.emplace_back("FineGrainedAuthorization");
  return out;
}

// Where no decisions are kept, clients are told that there is no such resource.
catalog::Catalog::IsOff is_off(const Parts& parts) {
  if (parts.decision_history > 0) return parts.is_off;
  return [others = parts.is_off](const catalog::Resource& r) {
    return (r.group == kOwnGroup && r.name == kDecisions) || (others && others(r));
  };
}

void print_figures(MetricPrinter& out, const store::Store& store) {
  const store::StoreStats stats = store.stats();
  auto print = [&](std::string_view name, MetricType type, std::uint64_t value) {
    out.begin({.name = name, .help = ""}, type);
    out.add_integer("", value);
  };
  print("cardea_store_keys", MetricType::kGauge, stats.keys);
  print("cardea_store_revision", MetricType::kCounter,
        static_cast<std::uint64_t>(store.current_revision()));
  print("cardea_store_live_bytes", MetricType::kGauge, stats.live_bytes);
  print("cardea_store_history_bytes", MetricType::kGauge, stats.history_bytes);
  print("cardea_store_file_bytes", MetricType::kGauge, stats.file_bytes);
  out.begin({"apiserver_storage_size_bytes", "The size of the store's file."}, MetricType::kGauge);
  out.add_integer(print_labels({{"storage_cluster_id", "store"}}), stats.file_bytes);
}

// How many objects of each resource are stored, by the name of today and by that of before 1.34.
void print_objects(MetricPrinter& out, const catalog::Catalog& catalog, const store::Store& store) {
  std::map<std::pair<std::string, std::string>, std::uint64_t> objects;
  for (const catalog::Group& group : catalog.all_groups())
    for (const catalog::Version& version : group.versions)
      for (const catalog::Resource* r : version.resources)
        if (!r->storage_prefix.empty() && catalog.storage_of(*r) == r)
          objects[{r->group, r->name}] = store.count(store::keys_with_prefix(r->storage_prefix));
  out.begin({"apiserver_resource_objects", "Stored objects."}, MetricType::kGauge);
  for (const auto& [name, count] : objects)
    out.add_integer(print_labels({{"group", name.first}, {"resource", name.second}}), count);
  out.begin({"apiserver_storage_objects", "Stored objects."}, MetricType::kGauge);
  for (const auto& [name, count] : objects)
    out.add_integer(
        print_labels(
            {{"resource", name.first.empty() ? name.second : cat(name.second, ".", name.first)}}),
        count);
}

void print_aggregation(MetricPrinter& out, const Aggregator& aggregator) {
  out.begin({"aggregator_unavailable_apiservice", "Whether an APIService is unavailable."},
            MetricType::kGauge);
  for (const Described& d : aggregator.table()->all)
    out.add_integer(print_labels({{"name", d.service.name}}),
                    d.service.service && !d.service.is_available ? 1 : 0);
}

void print_build(MetricPrinter& out, const BuildInfo& build) {
  out.begin({"kubernetes_build_info", "The sources of this program."}, MetricType::kGauge);
  out.add_number(print_labels({{"build_date", build.date},
                               {"git_commit", build.commit},
                               {"git_tree_state", build.tree_state},
                               {"git_version", "v1.36.3+cardea"},
                               {"major", "1"},
                               {"minor", "36"}}),
                 1);
}

}  // namespace

ApiServer::ApiServer(const Parts& parts)
    : features_(parts.features),
      catalog_(catalog::Catalog::builtin(catalog_features(parts.features),
                                         catalog::builtin_strategy, is_off(parts))),
      objects_(parts.store, parts.clock, parts.random, parts.namespace_policy.master),
      canonicalizer_(parts.namespace_policy.master),
      condition_seal_(parts.secret),
      server_id_(parts.server_id),
      decisions_(parts.decision_history > 0
                     ? std::make_unique<DecisionHistory>(parts.decision_history)
                     : nullptr),
      heavy_lanes_(parts.request_loops),
      loops_(parts.request_loops),
      backups_(parts.store),
      open_streams_(loops_, parts.stream_reauthorization_period, parts.metrics.registry()),
      watches_(parts.store, loops_),
      description_(catalog_, parts.clock,
                   {.server_address = parts.address, .build = parts.build, .flags = parts.flags}) {}

Result<std::unique_ptr<ApiServer>> ApiServer::make(Parts parts) {
  std::unique_ptr<ApiServer> self(new ApiServer(parts));
  self->unreadable_.find(parts.store, parts.log);
  parts.metrics.registry()
      .gauge({"cardea_store_unreadable_records", "Records that the server found and cannot read."})
      .set(static_cast<double>(self->unreadable_.count()));
  if (auto ok = self->load_authorizers(parts); !ok) return fail(ok.error());
  if (auto ok = self->load_admission(parts); !ok) return fail(ok.error());
  auto network = ServiceNetwork::make(parts.store, parts.clock, parts.random,
                                      parts.service_cluster_ip_range,
                                      parts.service_node_port_range);
  if (!network) return fail(network.error());
  self->network_ = std::move(*network);
  if (std::string warning = self->network_->warning(); !warning.empty())
    self->warnings_.push_back(std::move(warning));
  if (auto ok = self->load_fairness(parts); !ok) return fail(ok.error());
  self->set_guards();
  if (auto ok = self->load_aggregation(parts); !ok) return fail(ok.error());
  self->set_services(parts);
  self->describe(parts);
  self->open(parts);
  return self;
}

Result<void> ApiServer::load_authorizers(const Parts& parts) {
  auto uncovered = feeds::UncoveredFeed::start(parts.store);
  if (!uncovered) return fail(uncovered.error());
  uncovered_ = std::move(*uncovered);
  if (features_.fine_grained_authorization) {
    auto maps = feeds::PermissionMapFeed::start(
        parts.store, [this](std::shared_ptr<const catalog::PermissionMaps> now) {
          catalog_.change(
              [&](const catalog::Catalog& catalog) { return catalog.with_permission_maps(now); });
        });
    if (!maps) return fail(maps.error());
    permission_maps_ = std::move(*maps);
  }
  field_permissions_ = std::make_unique<FieldPermissions>(uncovered_->snapshot(),
                                                          parts.metrics.registry());
  auto built_ins = BuiltInAuthorizers::make(parts.store, catalog_, parts.namespace_policy,
                                            features_.node_conditions, parts.random,
                                            parts.metrics.registry());
  if (!built_ins) return fail(built_ins.error());
  built_ins_ = std::move(*built_ins);
  if (features_.fine_grained_authorization)
    built_ins_->follow(uncovered_->snapshot());
  else if (!uncovered_->current()->empty())
    warnings_.emplace_back(
        "there are UncoveredPermissionSets, but they have no effect: the feature gate "
        "FineGrainedAuthorization is off");
  auto chain = parts.make_chain(built_ins_->by_type());
  if (!chain) return fail(chain.error());
  chain_ = std::move(*chain);
  return {};
}

Result<void> ApiServer::load_admission(Parts& parts) {
  admission::Outside outside{
      .loop = parts.calls,
      .dialer = parts.dialer,
      .service_dialer = parts.service_dialer ? *parts.service_dialer : parts.dialer,
      .random = parts.random,
      .metrics = parts.metrics.registry()};
  conversion_ = std::make_unique<WebhookConverter>(admission::Objects(objects_), outside);
  auto selected = admission::select_plugins(admission::Objects(objects_), *chain_,
                                            parts.enabled_plugins, parts.disabled_plugins, &outside,
                                            parts.admission);
  if (!selected) return fail(selected.error());
  for (std::string& warning : selected->warnings) warnings_.push_back(std::move(warning));
  auto plugins = std::move(selected->plugins);
  plugins.push_back(policy::keep_master_namespace(parts.namespace_policy.master));
  plugins.push_back(policy::check_dry_deletion(objects_));
  for (auto& plugin : parts.more_plugins) plugins.push_back(std::move(plugin));
  admission_ = std::make_unique<admission::Chain>(std::move(plugins), &parts.metrics.registry());
  return {};
}

Result<void> ApiServer::load_aggregation(const Parts& parts) {
  if (!parts.aggregation) return {};
  std::vector<net::Loop*> loops;
  for (std::size_t i = 0; i < loops_.size(); ++i) loops.push_back(&loops_.at(i));
  net::Dialer& dialer = parts.aggregation_dialer ? *parts.aggregation_dialer : parts.dialer;
  aggregator_ = std::make_unique<Aggregator>(*parts.aggregation, std::move(loops), chores(),
                                             dialer);
  description_.set_aggregator(aggregator_.get());
  return aggregator_->load(parts.store, *catalog_.get());
}

Result<void> ApiServer::load_fairness(const Parts& parts) {
  fairness::GateOptions options = parts.fairness;
  if (parts.request_timeout.count() > 0) options.request_timeout = parts.request_timeout;
  gate_ = std::make_unique<fairness::Gate>(
      options, fairness::Gate::Surroundings{.store = objects_,
                                            .catalog = catalog_,
                                            .clock = parts.clock,
                                            .random = parts.random,
                                            .loops = loops_,
                                            .metrics = parts.metrics.registry()});
  auto rules = fairness::RulesFeed::start(parts.store, gate_->fairness());
  if (!rules) return fail(rules.error());
  flow_rules_ = std::move(*rules);
  return {};
}

void ApiServer::set_guards() {
  guards_.push_back(
      std::make_unique<EscalationGuard>(built_ins_->roles(), built_ins_->namespace_policy()));
  guards_.push_back(std::make_unique<AccessPolicyGuard>(built_ins_->access_policies()));
  guards_.push_back(
      std::make_unique<policy::PolicyGuard>(objects_.master(), &built_ins_->namespace_policy()));
  guards_.push_back(std::make_unique<UncoveredSetGuard>());
  guards_.push_back(std::make_unique<PermissionMapGuard>());
  guards_.push_back(std::make_unique<ContentGuard>());
}

void ApiServer::set_services(const Parts& parts) {
  services_ = std::make_unique<Services>(
      Services{.store = objects_,
               .shared = parts.store.is_always_fresh() ? nullptr : &objects_,
               .commits = objects_,
               .catalog = catalog_,
               .admission = *admission_,
               .authorizer = *chain_,
               .clock = parts.clock,
               .random = parts.random,
               .metrics = parts.metrics,
               .allocators = {network_.get()},
               .conversion = conversion_.get(),
               .canonicalizer = &canonicalizer_,
               .allow_privileged = parts.allow_privileged,
               .staleness = parts.authorization_staleness,
               .min_request_timeout = parts.min_request_timeout,
               .conditional_authorization = features_.conditional_authorization,
               .constrained_impersonation = features_.constrained_impersonation,
               .field_permissions = features_.fine_grained_authorization ? field_permissions_.get()
                                                                         : nullptr,
               .condition_seal = condition_seal_,
               .server_id = server_id_,
               .backends = parts.backends,
               .bridge = parts.bridge,
               .open_streams = &open_streams_,
               .aggregator = aggregator_.get(),
               .bodies = std::make_shared<MemoryBudget>(kBodiesOfOneUser, kBodies),
               .answers = std::make_shared<MemoryBudget>(kAnswersOfOneUser, kAnswers),
               .unreadable = &unreadable_,
               .backups = &backups_,
               .decisions = decisions_.get(),
               .heavy_lanes = &heavy_lanes_,
               .gate = gate_.get(),
               .authenticators = &parts.authenticators,
               .service_account_tokens = parts.service_account_tokens});
  for (const auto& guard : guards_) services_->guards.push_back(guard.get());
}

void ApiServer::describe(const Parts& parts) {
  health().add("ping", Health::Of::kLivenessAndReadiness, [] { return std::string(); });
  health().add("store", Health::Of::kReadiness,
               [&store = parts.store] { return store.stats().trouble; });
  // As kube-apiserver calls it.
  if (!parts.store.is_always_fresh())
    health().add("etcd", Health::Of::kReadiness,
                 [&store = parts.store, longest = parts.store_silence] {
                   const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(
                       std::chrono::steady_clock::now() - store.fresh_as_of());
                   return age <= longest ? std::string()
                                         : cat("etcd has not answered for ", age.count(), " ms");
                 });
  if (!parts.store.is_always_fresh())
    health().add("freshness", Health::Of::kReadiness,
                 [&store = parts.store, longest = parts.authorization_staleness] {
                   const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(
                       std::chrono::steady_clock::now() - store.fresh_as_of());
                   if (age <= longest) return std::string();
                   return cat("what this server knows was last confirmed ", age.count(),
                              " ms ago: nothing is allowed from policy that is older than ",
                              longest.count(), " ms");
                 });
  if (parts.bridge)
    health().add("bridge", Health::Of::kNothing,
                 [bridge = parts.bridge] { return bridge->trouble(); });
  running_ = &health().add_stage("shutdown");
  running_->reach();
  if (const authn::ServiceAccountTokens* tokens = parts.service_account_tokens) {
    description_.add_document("/.well-known/openid-configuration", "application/json",
                              tokens->discovery_document());
    description_.add_document("/openid/v1/jwks", "application/jwk-set+json",
                              tokens->key_set_document());
  }
  description_.set_debug(
      [this](const authz::RequestInfo& info) { return gate_->debug_page(info); });
  description_.set_metrics([this, &metrics = parts.metrics, more = parts.more_metrics,
                            &store = parts.store, build = parts.build] {
    gate_->fairness().show_gauges();
    MetricPrinter out;
    metrics.print(out);
    if (more) more(out);
    print_figures(out, store);
    print_objects(out, *catalog_.get(), objects_);
    if (aggregator_) print_aggregation(out, *aggregator_);
    print_build(out, build);
    print_process(out);
    return out.text();
  });
}

// Tells of callbacks that held a loop, and so everybody whose connection is on it. One line a
// second for each loop is enough; the metric counts them all.
void ApiServer::watch_over_loops(const Parts& parts) {
  static constexpr std::chrono::milliseconds kLongest{5}, kCertain{50};
  Histogram& held = parts.metrics.registry().histogram(
      {"cardea_loop_held_seconds",
       "Callbacks that kept the connections of an event loop waiting for more than 5 ms."},
      {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10});
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    net::Loop& loop = loops_.at(i);
    auto report = [&held, log = parts.log, quiet_until = net::SteadyTime(), &loop](
                      std::chrono::nanoseconds took, std::string_view what) mutable {
      held.observe(took);
      // Under this a busy machine may be the reason, and not the request.
      const auto level = took >= kCertain ? LogLevel::kWarning : LogLevel::kDebug;
      if (!log || !log->has(level) || loop.now() < quiet_until) return;
      quiet_until = loop.now() + std::chrono::seconds(1);
      const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(took);
      log->write(level, "a request held its event loop",
                 {{"request", what.empty() ? "unknown" : std::string(what)},
                  {"milliseconds", std::to_string(milliseconds.count())}});
    };
    net::watch_over(loop, kLongest, std::move(report));
  }
}

void ApiServer::open(const Parts& parts) {
  watch_over_loops(parts);
  using Rules = impersonation::Attempt::Rules;
  gateway_ = another_gateway(parts.authenticators);
  gateway_->set_impersonator(std::make_unique<impersonation::Impersonator>(
      features_.constrained_impersonation ? Rules::kConstrained : Rules::kLegacyOnly,
      &parts.metrics.registry()));
  gateway_->set_audit(parts.auditor);
  gateway_->set_traces(parts.traces);
  gateway_->set_request_timeout(parts.request_timeout);
  gateway_->set_log(parts.log);
  api_ = std::make_unique<Loopback>(
      *gateway_, chores(),
      authz::User{.name = "system:apiserver", .groups = {std::string(authz::kMastersGroup)}},
      "cardea");
  definitions_ = std::make_unique<DefinitionServer>(
      parts.store, catalog_, *api_, parts.clock,
      [this](std::shared_ptr<const catalog::Catalog> now) {
        watches_.end_outdated(std::move(now));
      });
  Health::Stage& served = health().add_stage("definitions");
  definitions_->start();
  served.reach();
}

std::unique_ptr<Gateway> ApiServer::another_gateway(
    const authn::AuthenticatorChain& authenticators) {
  return std::make_unique<Gateway>(*services_, authenticators, description_, watches_);
}

void ApiServer::stop() {
  if (is_stopped_) return;
  is_stopped_ = true;
  if (definitions_) definitions_->stop();
  open_streams_.stop();
  watches_.stop();
  if (gate_) gate_->stop();
}

}  // namespace cardea::rest
