#include "app/serve.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "app/admission_settings.h"
#include "app/audit.h"
#include "app/authentication.h"
#include "app/authorizer_chain.h"
#include "app/build_info.h"
#include "app/data_directory.h"
#include "app/housekeeping.h"
#include "app/machine.h"
#include "app/options.h"
#include "app/policy_config.h"
#include "app/progress.h"
#include "app/runtime_config.h"
#include "app/sandbox.h"
#include "app/server_identity.h"
#include "app/service_notice.h"
#include "app/storage.h"
#include "app/ui_pages.h"
#include "app/ways.h"
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
#include "rest/policy_keys.h"
#include "store/copy.h"
#include "store/sqlite/sqlite_store.h"
#include "upstream/trace_exporter.h"

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
  if (verbosity >= 4) return LogLevel::kRequest;
  return verbosity > 0 ? LogLevel::kDebug : LogLevel::kInfo;
}

// What has to be there before the API server, in the order in which it is opened.
struct Ground {
  explicit Ground(const ServeOptions& o)
      : log(clock, o.log_format, level_of(o.verbosity), STDERR_FILENO) {}

  SystemClock clock;
  const Log log;
  std::shared_ptr<rest::CurrentEncryption> encryption;  // null: none is configured
  std::unique_ptr<store::Store> store;
  DataDirectory data;
  SystemRandom random;
  const std::string server_id = make_uid(random);
  rest::Metrics metrics;
  net::Loops calls{1};  // where the server waits for others: webhooks, issuers
  Ways ways;
  net::FileWatch files;  // on a thread of its own
  std::shared_ptr<net::TlsServer> tls;
  Authentication authentication;
  std::unique_ptr<audit::Auditor> auditor;  // null: nothing is audited
  std::unique_ptr<TraceSink> traces;        // null: nothing is traced
  std::unique_ptr<rest::Backends> backends;
  std::unique_ptr<rest::bridge::Bridge> bridge;  // null: no cluster gets bridged answers
  rest::NamespacePolicySettings namespace_policy;

  upstream::WebhookSurroundings surroundings() {
    return {calls.at(0), *ways.webhooks, files, clock, random, metrics.registry(), server_id};
  }
};

// Written when a server has been ready in this folder: from then on it has a database.
std::string ready_mark(const std::string& directory) {
  return (std::filesystem::path(directory) / "store" / "was-ready").string();
}

// A database that is gone is not a fresh start: everything that was in it would be missing, with
// nobody told.
Result<void> check_database(const std::string& directory) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::exists(ready_mark(directory), error)) return {};
  const fs::path file = fs::path(directory) / "store" / "cardea.db";
  const bool is_there = fs::exists(file, error);
  if (is_there && !fs::is_empty(file, error)) return {};
  return fail(
      internal_error(cat("the database `", file.string(), "` is ", is_there ? "empty" : "missing",
                         ", but there was one: restore it, or remove `", ready_mark(directory),
                         "` to start with an empty one")));
}

Result<void> set_ready_mark(const std::string& directory) {
  const std::string path = ready_mark(directory);
  std::error_code error;
  if (std::filesystem::exists(path, error)) return {};
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const bool ok = file >= 0 && ::fsync(file) == 0;
  if (file >= 0) ::close(file);
  if (ok) return {};
  return fail(internal_error(cat("cannot write `", path, "`: ", std::strerror(errno))));
}

Result<std::unique_ptr<store::Store>> open_sqlite(const std::string& directory, Loading loading) {
  std::error_code made;
  std::filesystem::create_directories(directory, made);
  if (made) return fail(internal_error(cat("cannot make `", directory, "`: ", made.message())));
  if (auto ok = check_database(directory); !ok) return fail(ok.error());
  return store::open_sqlite_store(
      {.directory = (std::filesystem::path(directory) / "store").string(),
       .progress = std::move(loading)});
}

// Large stores take a while.
Result<std::unique_ptr<store::Store>> open_store(const ServeOptions& o, const Ground& g) {
  using Unit = Progress::Unit;
  Progress progress("loading the store", o.storage.is_etcd() ? Unit::kRecords : Unit::kBytes,
                    g.log.lines(LogLevel::kInfo));
  Loading loading = [&](std::uint64_t done, std::uint64_t all) { progress.show(done, all); };
  if (!o.storage.is_etcd()) return open_sqlite(o.data_dir, std::move(loading));
  return open_etcd(o.storage, o.event_ttl, g.encryption, g.log.lines(LogLevel::kWarning),
                   std::move(loading));
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

Result<std::unique_ptr<TraceSink>> make_traces(const ServeOptions& o, Ground& g) {
  if (o.tracing_config_file.empty()) return std::unique_ptr<TraceSink>();
  auto text = read_file(o.tracing_config_file);
  if (!text) return fail(text.error());
  auto config = upstream::parse_tracing_config(*text);
  if (!config)
    return fail(bad_request(cat("`", o.tracing_config_file, "`: ", config.error().message)));
  return upstream::make_trace_exporter(
      std::move(*config),
      {g.calls.at(0), *g.ways.webhooks, g.random, g.metrics.registry(), g.server_id});
}

Result<void> open_ground(ServeOptions& o, const std::string& service_address, Ground& g) {
  if (auto ok = take(make_ways(o.egress_selector_config_file), g.ways); !ok) return ok;
  // The store first: a server that does not get it must not touch the rest of the directory.
  std::error_code made;
  std::filesystem::create_directories(o.data_dir, made);
  if (made) return fail(internal_error(cat("cannot make `", o.data_dir, "`: ", made.message())));
  if (o.storage.is_etcd())
    g.log.write(LogLevel::kInfo, cat("objects are in etcd: ", join(o.storage.etcd_servers, ",")));
  const Notice notice = g.log.lines(LogLevel::kWarning);
  if (auto ok = take(open_encryption(o.storage, notice, &g.files), g.encryption); !ok) return ok;
  if (auto ok = take(open_store(o, g), g.store); !ok) return ok;
  if (store::is_half_copied(*g.store))
    return fail(bad_request(
        "a copy into this store was begun and not finished: run `cardea store copy` again"));
  std::vector<std::string> names = o.serving.cert_sans;
  names.push_back(advertised(o));
  names.push_back(o.serving.external_hostname);
  auto data = prepare_data_directory(
      {o.data_dir, o.bind_address, o.secure_port, {service_address}, std::move(names)});
  if (auto ok = take(std::move(data), g.data); !ok) return ok;
  if (auto ok = take(make_tls(o, g.data, g.files, g.log), g.tls); !ok) return ok;
  auto authentication = make_authentication(
      {o, g.data, *g.store, g.clock, g.random, g.calls.at(0), g.ways, g.files, g.log});
  if (auto ok = take(std::move(authentication), g.authentication); !ok) return ok;
  // The file of --authentication-config has the last word.
  o.anonymous_auth = g.authentication.jwt.anonymous != nullptr;
  if (auto ok = take(make_auditor(o.audit, g.surroundings(), g.log), g.auditor); !ok) return ok;
  if (auto ok = take(make_traces(o, g), g.traces); !ok) return ok;
  if (auto ok = take(make_backends(o.backends, *g.ways.backends), g.backends); !ok) return ok;
  if (auto ok = take(make_bridge(o.bridge, g.surroundings(), g.log), g.bridge); !ok) return ok;
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
  auto aggregation = aggregation_settings(o.backends, g.data.front_proxy);
  if (!aggregation) return fail(internal_error(aggregation.error().message));
  auto server = rest::ApiServer::make(
      {.store = *g.store,
       .clock = g.clock,
       .random = g.random,
       .metrics = g.metrics,
       .calls = g.calls.at(0),
       .dialer = *g.ways.webhooks,
       .authenticators = *g.authentication.chain,
       .make_chain = make_chain,
       .features = {.conditional_authorization = o.gates.on("ConditionalAuthorization"),
                    .fine_grained_authorization = o.gates.on("FineGrainedAuthorization"),
                    .constrained_impersonation = o.gates.on("ConstrainedImpersonation"),
                    .node_conditions = o.gates.on("NodeConditionalAuthorization")},
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
       .stream_reauthorization_period = o.serving.stream_reauthorization_period,
       .authorization_staleness = o.storage.authorization_staleness,
       // It is asked three times in the time of staleness.
       .store_silence = o.storage.etcd_health_timeout + o.storage.authorization_staleness / 3,
       .fairness = {.is_fair = o.serving.priority_and_fairness,
                    .reads = o.serving.max_requests_inflight,
                    .writes = o.serving.max_mutating_requests_inflight},
       .service_account_tokens = g.authentication.service_account_tokens.get(),
       .secret = g.authentication.secret,
       .server_id = g.server_id,
       .bridge = g.bridge.get(),
       .backends = g.backends.get(),
       .aggregation = std::move(*aggregation),
       .aggregation_dialer = g.ways.aggregation.get(),
       .service_dialer = g.ways.service_webhooks.get(),
       .auditor = g.auditor.get(),
       .traces = g.traces.get(),
       .decision_history = o.decision_history,
       .more_metrics = [&m = *g.authentication.jwt.metrics](MetricPrinter& out) { m.print(out); },
       .log = &g.log});
  // As kube-apiserver calls it.
  if (server && g.encryption)
    (*server)->health().add("kms-providers", rest::Health::Of::kReadiness,
                            [e = g.encryption] { return e->get()->trouble(); });
  if (server)
    for (const std::string& warning : (*server)->warnings())
      g.log.write(LogLevel::kWarning, warning);
  return server;
}

UiSignIn sign_in_of(const ServeOptions& o, const Ground& g) {
  return ui_sign_in(*g.authentication.jwt.authenticators->issuers(), o.ui_oidc_clients,
                    o.ui_oidc_scopes);
}

void warn_of_clients(const ServeOptions& o, const Ground& g) {
  if (o.ui && !o.ui_oidc_clients.empty() && sign_in_of(o, g).issuers.empty())
    g.log.write(LogLevel::kWarning,
                cat("nobody can sign in to the page by --ui-oidc-client-id: no issuer of the "
                    "authentication configuration has ",
                    join(o.ui_oidc_clients, " or "), " among its audiences"));
}

bool has_namespace_policy(const authz::Chain& chain) {
  return std::ranges::any_of(chain.authorizers(),
                             [](const auto& a) { return a->name() == "policy"; });
}

Result<void> seed_namespace_policy(const ServeOptions& o, const Log& log,
                                   const rest::Loopback& api) {
  rest::policy::Seeding seeding{.reset = o.reset_bootstrap_policy, .left_alone = {}};
  auto ok = rest::policy::ensure_master_namespace(api, o.policy_master_namespace, seeding);
  for (const std::string& role : seeding.left_alone)
    log.write(LogLevel::kWarning,
              cat("the role ", cardea::quoted(role), " of the namespace ",
                  cardea::quoted(o.policy_master_namespace),
                  " differs from the one that the server makes, and stays as it is; "
                  "--reset-bootstrap-policy would replace its rules"));
  return ok;
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
  auto booted = rest::bootstrap(
      api, *server.catalog().get(),
      {.service_ranges = std::move(cidrs),
       .service_address = first_service_address(ranges),
       // On a shared store a controller writes those of all servers.
       .server_address = is_for_others(address) && !o.storage.is_etcd() ? address : "",
       .server_port = o.secure_port,
       .authentication = std::move(*facts),
       .now = rfc3339(g.clock.now())});
  if (!booted) return booted;
  if (auto ok = rest::reconcile_default_roles(api, o.gates.on("ConditionalAuthorization")); !ok)
    return ok;
  if (has_namespace_policy(*server.services().authorizer.get()))
    if (auto ok = seed_namespace_policy(o, g.log, api); !ok) return ok;
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

// How many connections there may be, so that descriptors stay free for the database, for files that
// are read again, for webhooks, and for an administrator on this machine.
std::size_t connections_for_descriptors() {
  constexpr rlim_t kOfTheServer = 192;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  if (limit.rlim_cur < limit.rlim_max) {
    rlimit raised = limit;
    raised.rlim_cur = limit.rlim_max;
    if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  if (limit.rlim_cur == RLIM_INFINITY) return 0;
  return limit.rlim_cur > 2 * kOfTheServer ? limit.rlim_cur - kOfTheServer : limit.rlim_cur / 2;
}

http::ServerOptions server_options(const ServeOptions& o, const Log& log, MetricRegistry& metrics) {
  constexpr std::size_t kForAdministrators = 32;
  http::ServerOptions options;
  const std::size_t possible = connections_for_descriptors();
  options.max_connections = o.serving.max_connections ? o.serving.max_connections : possible;
  options.reserved_connections = kForAdministrators;
  options.max_connections_per_address = o.serving.max_connections_per_address;
  options.warn = [&log](const std::string& line) { log.write(LogLevel::kWarning, line); };
  options.refused_connections = &metrics.counter(
      {"cardea_connections_refused_total",
       "Connections that were closed at once: there were too many, altogether or of one address."});
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
          .metrics = &g.metrics.registry(),
          .aggregator = api.aggregator()};
}

// What took effect, or nothing where it is off.
Result<std::string> protect(const ServeOptions& o, const std::vector<std::string>& arguments) {
  using Sandbox = ServingOptions::Sandbox;
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  constexpr bool kIsInstrumented = true;  // sanitizers trace the process and start a symbolizer
#else
  constexpr bool kIsInstrumented = false;
#endif
#else
  constexpr bool kIsInstrumented = false;
#endif
  const bool is_forced = o.serving.sandbox == Sandbox::kOn;
  if (o.serving.sandbox == Sandbox::kOff || (kIsInstrumented && !is_forced)) return "";
  std::error_code made;
  std::filesystem::create_directories(o.data_dir, made);  // what is not there cannot be allowed
  auto entered = enter_sandbox(sandbox_plan(o.data_dir, o.audit.log_path, arguments));
  if (!entered && !is_forced) return entered.error().message;
  return entered;
}

// What works, and should not stay so.
void warn_of_dangers(const ServeOptions& o, const Log& log) {
  if (::geteuid() == 0)
    log.write(LogLevel::kWarning,
              "running as root, which a server does not need: use a user of its own");
  std::vector<std::string> keys = {o.tls_private_key_file,
                                   o.authentication.service_account_signing_key_file};
  for (const NamedCertificateFiles& named : o.serving.named_certificates) keys.push_back(named.key);
  for (const std::string& key : keys)
    if (!key.empty() && others_can_read(key))
      log.write(LogLevel::kWarning, cat("others can read the private key `", key, "`"));
}

std::vector<Housekeeping::Certificate> certificates_of(const ServeOptions& o,
                                                       const DataDirectory& data) {
  const std::filesystem::path folder(data.path);
  std::vector<Housekeeping::Certificate> out = {
      {"serving", o.tls_cert_file.empty() ? (folder / "server.crt").string() : o.tls_cert_file},
      {"authority", (folder / "ca.crt").string()},
      {"administrator", (folder / "admin.crt").string()}};
  if (!o.client_ca_file.empty()) out.push_back({"client-ca", o.client_ca_file});
  if (const std::string& file = o.authentication.requestheader_client_ca_file; !file.empty())
    out.push_back({"front-proxy-ca", file});
  for (const NamedCertificateFiles& named : o.serving.named_certificates)
    out.push_back({"serving", named.certificate});
  return out;
}

void stop(Ground& g, rest::ApiServer& api, rest::Controllers& controllers, http::Server& server) {
  controllers.stop();
  if (g.bridge) g.bridge->stop();
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
  auto sandbox = protect(o, {argv + 1, argv + argc});  // before there are other threads
  Ground ground(o);
  const Log& log = ground.log;
  for (const std::string& w : o.warnings) log.write(LogLevel::kWarning, w);
  if (!sandbox) return refuse(log, sandbox.error());
  auto ranges = catalog::ServiceRanges::parse(o.service_cluster_ip_range);
  if (!ranges) return misuse(log, ranges.error());
  if (auto ok = open_ground(o, first_service_address(*ranges), ground); !ok)
    return refuse(log, ok.error());
  auto made = make_api_server(o, ground);
  if (!made)
    return made.error().reason == Reason::kBadRequest ? misuse(log, made.error())
                                                      : refuse(log, made.error());
  rest::ApiServer& api = **made;
  UiPages pages(api.gateway(), [&] { return sign_in_of(o, ground); });
  warn_of_clients(o, ground);
  http::Handler& handler = o.ui ? static_cast<http::Handler&>(pages) : api.gateway();
  http::Server server(api.loops(), handler, server_options(o, log, ground.metrics.registry()));
  rest::Health::Stage& booted = api.health().add_stage("bootstrap");
  rest::Health::Stage& controlled = api.health().add_stage("controllers");
  const bool is_new = ground.store->current_revision() == 1;
  if (auto ok = boot(o, *ranges, ground, api); !ok) {
    // A full disk is no reason to serve nothing: what is missing is made at the next start.
    if (is_new || ok.error().reason != Reason::kServiceUnavailable) return refuse(log, ok.error());
    log.write(LogLevel::kError, ok.error().message);
  }
  booted.reach();
  auto facts = authentication_facts(o, ground.data);
  if (!facts) return refuse(log, facts.error());
  auto trusted = trusted_authority(o, ground.data);
  if (!trusted) return refuse(log, trusted.error());
  // No request is answered before the policy is complete.
  if (auto ok = listen(o, ground, server); !ok) return refuse(log, ok.error());
  rest::Controllers controllers(
      controller_context(ground, api),
      {.names = o.controllers,
       .lasting = o.lasting_controllers,
       .ca = *trusted,
       .event_ttl = o.storage.is_etcd() ? std::chrono::nanoseconds(0) : o.event_ttl,
       .identity = own_identity(ground.random, is_for_others(advertised(o))
                                                   ? cat(advertised(o), ":", o.secure_port)
                                                   : ""),
       .authentication = std::move(*facts),
       .keeps_dra_admin_policy = o.dra_admin_access_policy,
       .is_elected = o.storage.is_etcd(),
       .address = o.storage.is_etcd() && is_for_others(advertised(o)) ? advertised(o) : "",
       .port = o.secure_port});
  if (auto ok = controllers.start(); !ok) return refuse(log, ok.error());
  controlled.reach();
  if (ground.bridge) ground.bridge->start();
  if (!o.storage.is_etcd())
    if (auto ok = set_ready_mark(o.data_dir); !ok)
      log.write(LogLevel::kWarning, ok.error().message);
  const Housekeeping housekeeping(log, ground.metrics.registry(), *ground.store,
                                  certificates_of(o, ground.data));
  if (!sandbox->empty()) log.write(LogLevel::kInfo, *sandbox);
  warn_of_dangers(o, log);
  log.write(LogLevel::kInfo, cat("ready on https://", o.bind_address, ":", o.secure_port));
  notify_starter("READY=1");
  signals.wait();
  notify_starter("STOPPING=1");
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
