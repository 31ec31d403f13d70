#include "rest/boot/api_server.h"

#include <map>

#include "authn/service_account/tokens.h"
#include "base/strings.h"
#include "rest/policy/dry_deletion.h"
#include "rest/policy/master_namespace.h"
#include "rest/process_metrics.h"

namespace cardea::rest {
namespace {

// Plugins with their own resources.
std::vector<std::string> catalog_features(const Features& features) {
  std::vector<std::string> out;
  if (features.conditional_authorization) out.emplace_back("ConditionalAuthorization");
  if (features.fine_grained_authorization) out.emplace_back("FineGrainedAuthorization");
  return out;
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
                                         catalog::builtin_strategy, parts.is_off)),
      objects_(parts.store, parts.clock, parts.random, parts.namespace_policy.master),
      canonicalizer_(parts.namespace_policy.master),
      loops_(parts.request_loops),
      watches_(parts.store, loops_),
      description_(catalog_, parts.clock,
                   {.server_address = parts.address, .build = parts.build, .flags = parts.flags}) {}

Result<std::unique_ptr<ApiServer>> ApiServer::make(Parts parts) {
  std::unique_ptr<ApiServer> self(new ApiServer(parts));
  if (auto ok = self->load_authorizers(parts); !ok) return fail(ok.error());
  if (auto ok = self->load_admission(parts); !ok) return fail(ok.error());
  auto network = ServiceNetwork::make(parts.store, parts.clock, parts.random,
                                      parts.service_cluster_ip_range,
                                      parts.service_node_port_range);
  if (!network) return fail(network.error());
  self->network_ = std::move(*network);
  if (std::string warning = self->network_->warning(); !warning.empty())
    self->warnings_.push_back(std::move(warning));
  self->set_guards();
  self->set_services(parts);
  self->describe(parts);
  self->open(parts);
  return self;
}

Result<void> ApiServer::load_authorizers(const Parts& parts) {
  auto uncovered = feeds::UncoveredFeed::start(parts.store);
  if (!uncovered) return fail(uncovered.error());
  uncovered_ = std::move(*uncovered);
  field_permissions_ = std::make_unique<FieldPermissions>(uncovered_->snapshot(),
                                                          parts.metrics.registry());
  auto built_ins = BuiltInAuthorizers::make(parts.store, catalog_, parts.namespace_policy,
                                            parts.random, parts.metrics.registry());
  if (!built_ins) return fail(built_ins.error());
  built_ins_ = std::move(*built_ins);
  if (features_.fine_grained_authorization)
    built_ins_->follow(uncovered_->snapshot());
  else if (!uncovered_->current()->verbs.empty())
    warnings_.emplace_back(
        "there are UncoveredPermissionSets, but they have no effect: the feature gate "
        "FineGrainedAuthorization is off");
  auto chain = parts.make_chain(built_ins_->by_type());
  if (!chain) return fail(chain.error());
  chain_ = std::move(*chain);
  return {};
}

Result<void> ApiServer::load_admission(Parts& parts) {
  admission::Outside outside{.loop = parts.calls,
                             .dialer = parts.dialer,
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

void ApiServer::set_guards() {
  guards_.push_back(std::make_unique<EscalationGuard>(built_ins_->roles()));
  guards_.push_back(std::make_unique<AccessPolicyGuard>());
  guards_.push_back(
      std::make_unique<policy::PolicyGuard>(objects_.master(), &built_ins_->namespace_policy()));
  guards_.push_back(std::make_unique<UncoveredSetGuard>());
  guards_.push_back(std::make_unique<ContentGuard>());
}

void ApiServer::set_services(const Parts& parts) {
  services_ = std::make_unique<Services>(
      Services{.store = objects_,
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
               .min_request_timeout = parts.min_request_timeout,
               .conditional_authorization = features_.conditional_authorization,
               .field_permissions = features_.fine_grained_authorization ? field_permissions_.get()
                                                                         : nullptr,
               .backends = parts.backends,
               .authenticators = &parts.authenticators,
               .service_account_tokens = parts.service_account_tokens});
  for (const auto& guard : guards_) services_->guards.push_back(guard.get());
}

void ApiServer::describe(const Parts& parts) {
  health().add("ping", Health::Of::kLivenessAndReadiness, [] { return std::string(); });
  health().add("store", Health::Of::kReadiness,
               [&store = parts.store] { return store.stats().trouble; });
  running_ = &health().add_stage("shutdown");
  running_->reach();
  if (const authn::ServiceAccountTokens* tokens = parts.service_account_tokens) {
    description_.add_document("/.well-known/openid-configuration", "application/json",
                              tokens->discovery_document());
    description_.add_document("/openid/v1/jwks", "application/jwk-set+json",
                              tokens->key_set_document());
  }
  description_.set_metrics([this, &metrics = parts.metrics, more = parts.more_metrics,
                            &store = parts.store, build = parts.build] {
    MetricPrinter out;
    metrics.print(out);
    if (more) more(out);
    print_figures(out, store);
    print_objects(out, *catalog_.get(), objects_);
    print_build(out, build);
    print_process(out);
    return out.text();
  });
}

void ApiServer::open(const Parts& parts) {
  using Rules = impersonation::Attempt::Rules;
  gateway_ = another_gateway(parts.authenticators);
  gateway_->set_impersonator(std::make_unique<impersonation::Impersonator>(
      features_.constrained_impersonation ? Rules::kConstrained : Rules::kLegacyOnly,
      &parts.metrics.registry()));
  gateway_->set_audit(parts.auditor);
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
  watches_.stop();
}

}  // namespace cardea::rest
