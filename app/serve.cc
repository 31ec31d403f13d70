#include "app/serve.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>

#include "app/admission_settings.h"
#include "app/audit.h"
#include "app/authentication.h"
#include "app/authorizer_chain.h"
#include "app/build_info.h"
#include "app/data_directory.h"
#include "app/machine.h"
#include "app/options.h"
#include "app/policy_config.h"
#include "app/runtime_config.h"
#include "app/server_identity.h"
#include "base/log.h"
#include "base/strings.h"
#include "catalog/kinds/core/service_ranges.h"
#include "http/server.h"
#include "net/signals.h"
#include "rest/boot/api_server.h"
#include "rest/boot/bootstrap.h"
#include "rest/boot/default_roles.h"
#include "rest/boot/dra_admin_policy.h"
#include "rest/controllers/controllers.h"
#include "rest/policy/master_namespace.h"
#include "store/sqlite/sqlite_store.h"

namespace cardea::app {
namespace {

// Features with resources of their own.
const std::vector<std::string> kOwnFeatures = {"ConditionalAuthorization",
                                               "FineGrainedAuthorization"};

// The exit status of a server that cannot start.
int refuse(const Log& log, const Error& error) {
  log.write(LogLevel::kError, error.message);
  return 1;
}
// The same for a flag that makes no sense.
int misuse(const Log& log, const Error& error) {
  refuse(log, error);
  return 2;
}

LogLevel level_of(int verbosity) {
  return verbosity > 0 ? LogLevel::kDebug : LogLevel::kInfo;
}

// What has to be there before the API server, in the order in which it is opened.
struct Ground {
  explicit Ground(const ServeOptions& o)
      : log(clock, o.log_format, level_of(o.verbosity), STDERR_FILENO) {}

  SystemClock clock;
  const Log log;
  std::unique_ptr<store::Store> store;
  DataDirectory data;
  SystemRandom random;
  rest::Metrics metrics;
  net::Loops calls{1};  // where the server waits for others: webhooks, issuers
  net::Dialer dialer;
  // Nodes choose their names, so a name that is never found must not keep webhooks waiting.
  net::Dialer backend_dialer;
  net::FileWatch files;  // on a thread of its own
  std::shared_ptr<net::TlsServer> tls;
  Authentication authentication;
  std::unique_ptr<audit::Auditor> auditor;  // null: nothing is audited
  std::unique_ptr<rest::Backends> backends;
  rest::NamespacePolicySettings namespace_policy;

  upstream::WebhookSurroundings surroundings() {
    return {calls.at(0), dialer, files, clock, random, metrics.registry()};
  }
};

Result<std::unique_ptr<store::Store>> open_store(const std::string& directory) {
  std::error_code made;
  std::filesystem::create_directories(directory, made);
  if (made) return fail(internal_error(cat("cannot make `", directory, "`: ", made.message())));
  return store::open_sqlite_store(
      {.directory = (std::filesystem::path(directory) / "store").string()});
}

// Puts the value of `from` into `to`.
template <typename T>
Result<void> take(Result<T> from, T& to) {
  if (!from) return fail(from.error());
  to = std::move(*from);
  return {};
}

// Where other machines find the server. As kube-apiserver does, an address of this machine stands
// for one that only this machine can use. Empty when the machine has none.
std::string advertised(const ServeOptions& o) {
  if (!o.serving.advertise_address.empty()) return o.serving.advertise_address;
  if (is_for_others(o.bind_address)) return o.bind_address;
  const std::vector<std::string> own = own_addresses();
  return own.empty() ? "" : own[0];
}

// Of the `kubernetes` service.
std::string first_service_address(const catalog::ServiceRanges& ranges) {
  return ranges.ranges[0].first().text();
}

Result<void> open_ground(ServeOptions& o, const std::string& service_address, Ground& g) {
  // The store first: a server that does not get it must not touch the rest of the directory.
  if (auto ok = take(open_store(o.data_dir), g.store); !ok) return ok;
  std::vector<std::string> names = o.serving.cert_sans;
  names.push_back(advertised(o));
  names.push_back(o.serving.external_hostname);
  auto data = prepare_data_directory(
      {o.data_dir, o.bind_address, o.secure_port, {service_address}, std::move(names)});
  if (auto ok = take(std::move(data), g.data); !ok) return ok;
  if (auto ok = take(make_tls(o, g.data, g.files, g.log), g.tls); !ok) return ok;
  auto authentication = make_authentication(
      {o, g.data, *g.store, g.clock, g.random, g.calls.at(0), g.dialer, g.files, g.log});
  if (auto ok = take(std::move(authentication), g.authentication); !ok) return ok;
  // The file of --authentication-config has the last word.
  o.anonymous_auth = g.authentication.jwt.anonymous != nullptr;
  if (auto ok = take(make_auditor(o.audit, g.surroundings(), g.log), g.auditor); !ok) return ok;
  if (auto ok = take(make_backends(o.backends, g.backend_dialer), g.backends); !ok) return ok;
  return take(namespace_policy_settings(o), g.namespace_policy);
}

Result<std::unique_ptr<rest::ApiServer>> make_api_server(const ServeOptions& o, Ground& g) {
  auto make_chain = [&](const rest::BuiltInAuthorizers::ByType& built_ins)
      -> Result<std::shared_ptr<const authz::CurrentChain>> {
    auto chain = AuthorizerChain::make(o, built_ins, g.surroundings(), g.log);
    // What is wrong in a file is no misuse of a flag.
    if (!chain) return fail(internal_error(chain.error().message));
    return std::shared_ptr<const authz::CurrentChain>(*chain, &(*chain)->current());
  };
  auto settings = admission_settings(o);
  if (!settings) return fail(settings.error());
  auto served = RuntimeConfig::parse(o.runtime_config, *catalog::Catalog::builtin(kOwnFeatures));
  if (!served) return fail(served.error());
  auto server = rest::ApiServer::make(
      {.store = *g.store,
       .clock = g.clock,
       .random = g.random,
       .metrics = g.metrics,
       .calls = g.calls.at(0),
       .dialer = g.dialer,
       .authenticators = *g.authentication.chain,
       .make_chain = make_chain,
       .features = {.conditional_authorization = o.gates.on("ConditionalAuthorization"),
                    .fine_grained_authorization = o.gates.on("FineGrainedAuthorization"),
                    .constrained_impersonation = o.gates.on("ConstrainedImpersonation")},
       .namespace_policy = g.namespace_policy,
       .enabled_plugins = o.enable_admission_plugins,
       .disabled_plugins = o.disable_admission_plugins,
       .service_cluster_ip_range = o.service_cluster_ip_range,
       .service_node_port_range = o.service_node_port_range,
       .address = cat(o.bind_address, ":", o.secure_port),
       .build = build_info(),
       .flags = o.flags,
       .allow_privileged = o.allow_privileged,
       .admission = std::move(*settings),
       .is_off =
           [config = std::move(*served)](const catalog::Resource& r) { return config.is_off(r); },
       .request_timeout = o.serving.request_timeout,
       .min_request_timeout = o.serving.min_request_timeout,
       .service_account_tokens = g.authentication.service_account_tokens.get(),
       .backends = g.backends.get(),
       .auditor = g.auditor.get(),
       .more_metrics = [&m = *g.authentication.jwt.metrics](MetricPrinter& out) { m.print(out); },
       .log = &g.log});
  if (server)
    for (const std::string& warning : (*server)->warnings())
      g.log.write(LogLevel::kWarning, warning);
  return server;
}

bool has_namespace_policy(const authz::Chain& chain) {
  return std::ranges::any_of(chain.authorizers(),
                             [](const auto& a) { return a->name() == "policy"; });
}

// Creates what every cluster has.
Result<void> boot(const ServeOptions& o, const catalog::ServiceRanges& ranges, const Ground& g,
                  rest::ApiServer& server) {
  const rest::Loopback& api = server.api();
  bool is_new = g.store->current_revision() == 1;
  auto facts = authentication_facts(o, g.data);
  if (!facts) return fail(facts.error());
  // Endpoints have no other addresses.
  const std::string address = advertised(o);
  std::vector<std::string> cidrs;
  for (const catalog::ServiceRange& range : ranges.ranges) cidrs.push_back(range.text());
  auto booted = rest::bootstrap(api, *server.catalog().get(),
                                {.service_ranges = std::move(cidrs),
                                 .service_address = first_service_address(ranges),
                                 .server_address = is_for_others(address) ? address : "",
                                 .server_port = o.secure_port,
                                 .authentication = std::move(*facts),
                                 .now = rfc3339(g.clock.now())});
  if (!booted) return booted;
  if (auto ok = rest::reconcile_default_roles(api); !ok) return ok;
  if (has_namespace_policy(*server.services().authorizer.get()))
    if (auto ok = rest::policy::ensure_master_namespace(api, o.policy_master_namespace); !ok)
      return ok;
  if (o.dra_admin_access_policy)
    if (auto ok = rest::ensure_dra_admin_policy(api); !ok) return ok;
  // History begins when a server is ready for the first time.
  if (is_new) return store::compact_sync(*g.store, g.store->current_revision());
  return {};
}

// What a client needs to trust the certificate we serve. One that was given stands for itself: its
// file brings its issuers along, or it is its own.
Result<std::string> trusted_authority(const ServeOptions& o, const DataDirectory& data) {
  if (o.tls_cert_file.empty()) return data.authority.certificate;
  return read_file(o.tls_cert_file);
}

http::ServerOptions server_options(const ServeOptions& o, MetricRegistry& metrics) {
  http::ServerOptions options;
  options.body_timeout = o.serving.request_timeout;
  options.late_body = rest::pipeline::kTooLate;
  options.goaway_chance = o.serving.goaway_chance;
  options.handshake_errors = &metrics.counter(
      {"apiserver_tls_handshake_errors_total", "Connections with whose client no TLS came about."});
  if (o.http2_max_streams_per_connection > 0)
    options.max_concurrent_streams = o.http2_max_streams_per_connection;
  return options;
}

Result<void> listen(const ServeOptions& o, const Ground& g, http::Server& server) {
  auto port = server.listen(o.bind_address, o.secure_port, g.tls);
  if (!port) return fail(port.error());
  if (!o.insecure_bench_port) return {};
  auto plain = server.listen("127.0.0.1", o.insecure_bench_port, nullptr,
                             http::Plain::kHttp1OrHttp2);
  if (!plain) return fail(plain.error());
  return {};
}

rest::ControllerContext controller_context(Ground& g, rest::ApiServer& api) {
  return {.store = api.store(),
          .catalog = api.catalog(),
          .gateway = api.gateway(),
          .loop = api.chores(),
          .clock = g.clock,
          .log = g.log.lines(LogLevel::kDebug),
          .notice = g.log.lines(LogLevel::kInfo),
          .metrics = &g.metrics.registry()};
}

void stop(Ground& g, rest::ApiServer& api, rest::Controllers& controllers, http::Server& server) {
  controllers.stop();
  api.stop();
  server.stop(std::chrono::seconds(5));
  if (g.auditor) g.auditor->stop(std::chrono::seconds(10));
  g.calls.stop();  // an answer that arrives now has no receiver any more
}

}  // namespace

int serve(int argc, char** argv) {
  auto parsed = parse_serve_options(argc, argv);
  if (auto* status = std::get_if<int>(&parsed)) return *status;
  ServeOptions& o = std::get<ServeOptions>(parsed);
  net::Signals signals({SIGINT, SIGTERM});
  Ground ground(o);
  const Log& log = ground.log;
  for (const std::string& w : o.warnings) log.write(LogLevel::kWarning, w);
  auto ranges = catalog::ServiceRanges::parse(o.service_cluster_ip_range);
  if (!ranges) return misuse(log, ranges.error());
  if (auto ok = open_ground(o, first_service_address(*ranges), ground); !ok)
    return refuse(log, ok.error());
  auto made = make_api_server(o, ground);
  if (!made)
    return made.error().reason == Reason::kBadRequest ? misuse(log, made.error())
                                                      : refuse(log, made.error());
  rest::ApiServer& api = **made;
  http::Server server(api.loops(), api.gateway(), server_options(o, ground.metrics.registry()));
  rest::Health::Stage& booted = api.health().add_stage("bootstrap");
  rest::Health::Stage& controlled = api.health().add_stage("controllers");
  if (auto ok = boot(o, *ranges, ground, api); !ok) return refuse(log, ok.error());
  booted.reach();
  auto trusted = trusted_authority(o, ground.data);
  if (!trusted) return refuse(log, trusted.error());
  // No request is answered before the policy is complete.
  if (auto ok = listen(o, ground, server); !ok) return refuse(log, ok.error());
  rest::Controllers controllers(
      controller_context(ground, api),
      {.names = o.controllers,
       .lasting = o.lasting_controllers,
       .ca = *trusted,
       .event_ttl = o.event_ttl,
       .identity = own_identity(ground.random, is_for_others(advertised(o))
                                                   ? cat(advertised(o), ":", o.secure_port)
                                                   : "")});
  if (auto ok = controllers.start(); !ok) return refuse(log, ok.error());
  controlled.reach();
  log.write(LogLevel::kInfo, cat("ready on https://", o.bind_address, ":", o.secure_port));
  signals.wait();
  if (o.serving.shutdown_delay > std::chrono::nanoseconds(0)) {
    api.set_stopping();
    log.write(LogLevel::kInfo, "told to stop; serving on for --shutdown-delay-duration");
    signals.wait_for(o.serving.shutdown_delay);
  }
  log.write(LogLevel::kInfo, "stopping");
  stop(ground, api, controllers, server);
  return 0;
}

}  // namespace cardea::app
