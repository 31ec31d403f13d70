#include "rest/boot/api_server.h"

#include "authn/service_account/tokens.h"
#include "rest/policy/dry_deletion.h"
#include "rest/policy/master_namespace.h"

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
}

}  // namespace

ApiServer::ApiServer(const Parts& parts)
    : features_(parts.features),
      catalog_(catalog::Catalog::builtin(catalog_features(parts.features))),
      objects_(parts.store, parts.clock, parts.random, parts.namespace_policy.master),
      canonicalizer_(parts.namespace_policy.master),
      loops_(parts.request_loops),
      watches_(parts.store, loops_),
      description_(catalog_, {.server_address = parts.address}) {}

Result<std::unique_ptr<ApiServer>> ApiServer::make(Parts parts) {
  std::unique_ptr<ApiServer> self(new ApiServer(parts));
  if (auto ok = self->load_authorizers(parts); !ok) return fail(ok.error());
  if (auto ok = self->load_admission(parts); !ok) return fail(ok.error());
  auto network = ServiceNetwork::make(parts.store, parts.random, parts.service_cluster_ip_range,
                                      parts.service_node_port_range);
  if (!network) return fail(network.error());
  self->network_ = std::move(*network);
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
  auto selected = admission::select_plugins(admission::Objects(objects_), *chain_,
                                            parts.enabled_plugins, parts.disabled_plugins,
                                            &outside);
  if (!selected) return fail(selected.error());
  for (std::string& warning : selected->warnings) warnings_.push_back(std::move(warning));
  auto plugins = std::move(selected->plugins);
  plugins.push_back(policy::keep_master_namespace(parts.namespace_policy.master));
  plugins.push_back(policy::check_dry_deletion(objects_));
  for (auto& plugin : parts.more_plugins) plugins.push_back(std::move(plugin));
  admission_ = std::make_unique<admission::Chain>(std::move(plugins));
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
               .canonicalizer = &canonicalizer_,
               .allow_privileged = parts.allow_privileged,
               .conditional_authorization = features_.conditional_authorization,
               .field_permissions = features_.fine_grained_authorization ? field_permissions_.get()
                                                                         : nullptr,
               .authenticators = &parts.authenticators,
               .service_account_tokens = parts.service_account_tokens});
  for (const auto& guard : guards_) services_->guards.push_back(guard.get());
}

void ApiServer::describe(const Parts& parts) {
  if (const authn::ServiceAccountTokens* tokens = parts.service_account_tokens) {
    description_.add_document("/.well-known/openid-configuration", "application/json",
                              tokens->discovery_document());
    description_.add_document("/openid/v1/jwks", "application/jwk-set+json",
                              tokens->key_set_document());
  }
  description_.set_metrics(
      [&metrics = parts.metrics, more = parts.more_metrics, &store = parts.store] {
        MetricPrinter out;
        metrics.print(out);
        if (more) more(out);
        print_figures(out, store);
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
  gateway_->set_log(parts.log);
  api_ = std::make_unique<Loopback>(
      *gateway_, chores(),
      authz::User{.name = "system:apiserver", .groups = {std::string(authz::kMastersGroup)}},
      "cardea");
  definitions_ = std::make_unique<DefinitionServer>(parts.store, catalog_, *api_, parts.clock);
  definitions_->start();
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
