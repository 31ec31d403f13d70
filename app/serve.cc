#include "app/serve.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "admission/plugins.h"
#include "app/audit.h"
#include "app/authentication.h"
#include "app/authorization.h"
#include "app/data_directory.h"
#include "app/log.h"
#include "app/options.h"
#include "base/strings.h"
#include "http/server.h"
#include "net/signals.h"
#include "rest/boot/bootstrap.h"
#include "rest/boot/default_roles.h"
#include "rest/boot/dra_admin_policy.h"
#include "rest/catalog_holder.h"
#include "rest/controllers/controllers.h"
#include "rest/definition_server.h"
#include "rest/gateway.h"
#include "rest/guards/access_policy_guard.h"
#include "rest/guards/content_guard.h"
#include "rest/guards/escalation_guard.h"
#include "rest/guards/uncovered_set_guard.h"
#include "rest/policy/canonicalizer.h"
#include "rest/policy/dry_deletion.h"
#include "rest/policy/guard.h"
#include "rest/policy/master_namespace.h"
#include "rest/policy/policy_store.h"
#include "rest/write/field_permissions.h"
#include "rest/write/service_network.h"
#include "store/sqlite/sqlite_store.h"

namespace cardea::app {
namespace {

int refuse(const Error& error) {
  std::fprintf(stderr, "cardea serve: %s\n", error.message.c_str());
  return 1;
}

// A flag that makes no sense.
int misuse(const Error& error) {
  refuse(error);
  return 2;
}

void say(const std::string& what) {
  std::fprintf(stderr, "cardea serve: %s\n", what.c_str());
}
void warn(const std::string& what) {
  std::fprintf(stderr, "cardea serve: warning: %s\n", what.c_str());
}

// Those that bring resources of their own.
std::vector<std::string> features_of(const ServeOptions& o) {
  std::vector<std::string> out;
  for (std::string_view gate : {"ConditionalAuthorization", "FineGrainedAuthorization"})
    if (o.gates.on(gate)) out.emplace_back(gate);
  return out;
}

std::unique_ptr<const impersonation::Impersonator> make_impersonator(const ServeOptions& o,
                                                                     MetricRegistry& metrics) {
  using Rules = impersonation::Attempt::Rules;
  return std::make_unique<impersonation::Impersonator>(
      o.gates.on("ConstrainedImpersonation") ? Rules::kConstrained : Rules::kLegacyOnly, &metrics);
}

// What a client needs to trust the certificate we serve. One that was given stands for itself: its
// file brings its issuers along, or it is its own.
Result<std::string> trusted_authority(const ServeOptions& o, const DataDirectory& data) {
  if (o.tls_cert_file.empty()) return data.authority.certificate;
  return read_file(o.tls_cert_file);
}

}  // namespace

int serve(int argc, char** argv) {
  auto parsed = parse_serve_options(argc, argv);
  if (auto* status = std::get_if<int>(&parsed)) return *status;
  ServeOptions& o = std::get<ServeOptions>(parsed);
  for (const std::string& w : o.warnings) warn(w);
  net::Signals signals({SIGINT, SIGTERM});

  auto service_address = rest::first_service_address(o.service_cluster_ip_range);
  if (!service_address) return misuse(service_address.error());
  // The store first: whoever does not get it must not touch the rest of the directory.
  std::error_code made;
  std::filesystem::create_directories(o.data_dir, made);
  if (made) return refuse(internal_error(cat("cannot make `", o.data_dir, "`: ", made.message())));
  auto store = store::open_sqlite_store(
      {.directory = (std::filesystem::path(o.data_dir) / "store").string()});
  if (!store) return refuse(store.error());
  auto data = prepare_data_directory(
      {o.data_dir, o.bind_address, o.secure_port, {*service_address}});
  if (!data) return refuse(data.error());
  // Where the server waits for others: webhooks, issuers. Files are watched on a thread of their
  // own.
  SystemClock clock;
  SystemRandom random;
  rest::Metrics metrics;
  net::Loops calls(1);
  net::Dialer dialer;
  net::FileWatch files;
  auto tls = make_tls(o, *data, files);
  if (!tls) return refuse(tls.error());
  auto authentication = make_authentication(
      {o, *data, **store, clock, random, calls.at(0), dialer, files});
  if (!authentication) return refuse(authentication.error());
  o.anonymous_auth = authentication->jwt.anonymous != nullptr;  // the file of
                                                                // --authentication-config has the
                                                                // last word
  rest::CatalogHolder catalog(catalog::Catalog::builtin(features_of(o)));
  auto uncovered = authz::fields::UncoveredFeed::load(**store);
  if (!uncovered) return refuse(uncovered.error());
  auto authorization = Authorization::make(
      **store, catalog, o, {calls.at(0), dialer, files, clock, random, metrics.registry()}, say);
  if (!authorization) return refuse(authorization.error());
  if (o.gates.on("FineGrainedAuthorization")) (*authorization)->follow(**uncovered);
  rest::FieldPermissions field_permissions(**uncovered, metrics.registry());
  if (!o.gates.on("FineGrainedAuthorization") && !(*uncovered)->current()->verbs.empty())
    warn(
        "there are UncoveredPermissionSets, and nobody follows them: the feature gate "
        "FineGrainedAuthorization is off");
  auto auditor = make_auditor(o.audit,
                              {calls.at(0), dialer, files, clock, random, metrics.registry()});
  if (!auditor) return refuse(auditor.error());
  // From here on roles and bindings of namespace policy are objects like others.
  rest::policy::PolicyStore objects(**store, clock, random, o.policy_master_namespace);
  admission::Outside outside{
      .loop = calls.at(0), .dialer = dialer, .random = random, .metrics = metrics.registry()};
  auto plugins = admission::select_plugins(admission::Objects(objects), (*authorization)->chain(),
                                           o.enable_admission_plugins, o.disable_admission_plugins,
                                           &outside);
  if (!plugins) return misuse(plugins.error());
  for (const std::string& w : plugins->warnings) warn(w);
  plugins->plugins.push_back(rest::policy::keep_master_namespace(o.policy_master_namespace));
  plugins->plugins.push_back(rest::policy::check_dry_deletion(objects));
  admission::Chain admission(std::move(plugins->plugins));
  auto network = rest::ServiceNetwork::make(**store, random, o.service_cluster_ip_range,
                                            o.service_node_port_range);
  if (!network) return misuse(network.error());
  rest::EscalationGuard escalation((*authorization)->policy());
  rest::AccessPolicyGuard access_policies;
  rest::ContentGuard contents;
  rest::policy::PolicyGuard policies(o.policy_master_namespace,
                                     &(*authorization)->namespace_policy());
  rest::policy::PolicyCanonicalizer canonicalizer(o.policy_master_namespace);
  rest::UncoveredSetGuard uncovered_sets;
  rest::Services services{
      .store = objects,
      .catalog = catalog,
      .admission = admission,
      .authorizer = (*authorization)->chain(),
      .clock = clock,
      .random = random,
      .metrics = metrics,
      .allocators = {network->get()},
      .guards = {&escalation, &access_policies, &policies, &uncovered_sets, &contents},
      .canonicalizer = &canonicalizer,
      .allow_privileged = o.allow_privileged,
      .conditional_authorization = o.gates.on("ConditionalAuthorization"),
      .field_permissions = o.gates.on("FineGrainedAuthorization") ? &field_permissions : nullptr,
      .authenticators = authentication->chain.get(),
      .service_account_tokens = authentication->service_account_tokens.get()};
  net::Loops loops(2);
  rest::WatchHubs watches(**store, loops);
  rest::SelfDescription description(catalog,
                                    {.server_address = cat(o.bind_address, ":", o.secure_port)});
  description.add_document("/.well-known/openid-configuration", "application/json",
                           authentication->service_account_tokens->discovery_document());
  description.add_document("/openid/v1/jwks", "application/jwk-set+json",
                           authentication->service_account_tokens->key_set_document());
  description.set_metrics([&metrics, &authentication_metrics = *authentication->jwt.metrics,
                           &store = **store] {
    store::StoreStats stats = store.stats();
    return metrics.print() + authentication_metrics.print() +
           cat("# TYPE cardea_store_keys gauge\ncardea_store_keys ", stats.keys,
               "\n# TYPE cardea_store_revision counter\ncardea_store_revision ",
               store.current_revision(),
               "\n# TYPE cardea_store_live_bytes gauge\ncardea_store_live_bytes ", stats.live_bytes,
               "\n# TYPE cardea_store_history_bytes gauge\ncardea_store_history_bytes ",
               stats.history_bytes,
               "\n# TYPE cardea_store_file_bytes gauge\ncardea_store_file_bytes ", stats.file_bytes,
               "\n");
  });
  rest::Gateway gateway(services, *authentication->chain, description, watches);
  gateway.set_impersonator(make_impersonator(o, metrics.registry()));
  gateway.set_audit(auditor->get());
  gateway.set_refusal_log(log_line);
  if (o.verbosity > 0) gateway.set_log(log_line);
  http::Server server(loops, gateway);
  net::Loops chores(1);
  authz::User self{.name = "system:apiserver", .groups = {std::string(authz::kMastersGroup)}};
  rest::Loopback api(gateway, chores.at(0), self, "cardea");
  rest::DefinitionServer definitions(**store, catalog, api, clock);
  definitions.start();
  bool is_new = (*store)->current_revision() == 1;
  auto facts = authentication_facts(o, *data);
  if (!facts) return refuse(facts.error());
  auto booted = rest::bootstrap(api, {.service_cluster_ip_range = o.service_cluster_ip_range,
                                      .service_address = *service_address,
                                      .server_address = o.bind_address,
                                      .server_port = o.secure_port,
                                      .authentication = std::move(*facts),
                                      .now = rfc3339(clock.now())});
  if (!booted) return refuse(booted.error());
  if (auto ok = rest::reconcile_default_roles(api); !ok) return refuse(ok.error());
  if (auto ok = rest::policy::ensure_master_namespace(api, o.policy_master_namespace); !ok)
    return refuse(ok.error());
  if (o.dra_admin_access_policy)
    if (auto ok = rest::ensure_dra_admin_policy(api); !ok) return refuse(ok.error());
  // History begins when a server is ready for the first time.
  if (is_new)
    if (auto ok = store::compact_sync(**store, (*store)->current_revision()); !ok)
      return refuse(ok.error());
  auto trusted = trusted_authority(o, *data);
  if (!trusted) return refuse(trusted.error());
  // Nobody is answered before the policy is complete.
  auto port = server.listen(o.bind_address, o.secure_port, *tls);
  if (!port) return refuse(port.error());
  if (o.insecure_bench_port) {
    auto plain = server.listen("127.0.0.1", o.insecure_bench_port);
    if (!plain) return refuse(plain.error());
  }
  rest::Controllers controllers({.store = objects,
                                 .catalog = catalog,
                                 .gateway = gateway,
                                 .loop = chores.at(0),
                                 .clock = clock,
                                 .log = o.verbosity > 0 ? warn : nullptr},
                                o.controllers, *trusted);
  if (auto ok = controllers.start(); !ok) return refuse(ok.error());
  description.set_ready(true);
  std::fprintf(stderr, "cardea serve: ready on https://%s:%d\n", o.bind_address.c_str(), *port);
  signals.wait();
  std::fprintf(stderr, "cardea serve: stopping\n");
  controllers.stop();
  definitions.stop();
  watches.stop();
  server.stop(std::chrono::seconds(5));
  if (*auditor) (*auditor)->stop(std::chrono::seconds(10));
  calls.stop();  // an answer that comes now has nobody left to tell
  return 0;
}

}  // namespace cardea::app
