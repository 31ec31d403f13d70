#include "app/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>

#include "app/command_line.h"
#include "app/kube_flags.h"
#include "app/machine.h"
#include "app/version_text.h"
#include "base/names.h"
#include "base/strings.h"
#include "base/time_parse.h"
#include "http/url.h"
#include "rest/controllers/controllers.h"

namespace cardea::app {
namespace {

constexpr std::string_view kModes[] = {"AlwaysAllow", "AlwaysDeny", "ABAC",   "Webhook",
                                       "RBAC",        "Node",       "Access", "Policy"};
constexpr std::string_view kSwitches[] = {"--aggregator-reject-forwarding-redirect",
                                          "--allow-privileged",
                                          "--anonymous-auth",
                                          "--disable-http2-serving",
                                          "--enable-aggregator-routing",
                                          "--enable-bootstrap-token-auth",
                                          "--enable-priority-and-fairness",
                                          "--encryption-provider-config-automatic-reload",
                                          "--service-account-extend-token-expiration",
                                          "--service-account-lookup"};

// Lists as they stand on the command line, commas included.
struct RawLists {
  std::vector<std::string> modes{"Node,Access,Policy,RBAC"}, enable, disable, controllers{"*"},
      gates, runtime_config, ui_clients, ui_scopes;
  std::vector<std::string> proxy_names, proxy_users, proxy_uids, proxy_groups, proxy_extra,
      audiences;
  std::string max_token_expiration = "0s", webhook_ttl = "2m0s", authorized_ttl = "5m0s",
              unauthorized_ttl = "30s";
  std::string log_format = "text", logging_format;
  std::string event_ttl = "1h0m0s";
  ServingFlags serving;
  StorageFlags storage;
  BackendFlags backends;
  BridgeFlags bridge;
  bool lookup = true;
  bool is_mode_given = false;
};

bool contains(const auto& list, std::string_view what) {
  return std::ranges::find(list, what) != std::end(list);
}

std::string history_problem(const std::string& text) {
  constexpr std::int64_t kMost = 10'000;
  const auto number = parse_int(text);
  const bool is_good = number && *number >= 0 && *number <= kMost;
  return is_good ? "" : cat("`", text, "` must be between 0 and ", kMost);
}

std::string port_problem(const std::string& text) {
  unsigned port = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  bool is_port = error == std::errc{} && end == text.data() + text.size() && port > 0 &&
                 port < 65'536;
  return is_port ? "" : cat("`", text, "` must be between 1 and 65535");
}

// Service accounts, front proxies and the token webhook.
void declare_authentication(CLI::App& app, AuthenticationOptions& o, RawLists& lists) {
  constexpr const char* kGroup = "Authentication";
  auto list = [&](const char* name, std::vector<std::string>& to, const char* what,
                  const char* help) {
    app.add_option(name, to, help)->allow_extra_args(false)->type_name(what)->group(kGroup);
  };
  auto text = [&](const char* name, std::string& to, const char* what, const char* help) {
    app.add_option(name, to, help)->type_name(what)->group(kGroup)->capture_default_str();
  };
  list("--api-audiences", lists.audiences, "LIST",
       "the audiences of this server: a token must name one of them (default: the issuers of "
       "service account tokens)");
  list("--service-account-issuer", o.service_account_issuers, "URL",
       "the issuer of service account tokens (default: this server's URL). May be repeated: the "
       "server accepts all, and writes the first one into new tokens");
  list("--service-account-key-file", o.service_account_key_files, "FILE",
       "more public keys that verify service account tokens (PEM). May be repeated");
  text("--service-account-signing-key-file", o.service_account_signing_key_file, "FILE",
       "the private key that signs service account tokens (PEM). The server makes one when none is "
       "given");
  text("--service-account-jwks-uri", o.service_account_jwks_uri, "URL",
       "where other programs find the keys of this server (default: its own /openid/v1/jwks)");
  text("--service-account-max-token-expiration", lists.max_token_expiration, "DURATION",
       "the longest life of a service account token; 0s for no limit");
  app.add_option("--service-account-extend-token-expiration",
                 o.service_account_extend_token_expiration,
                 "whether tokens that are mounted into pods live a year instead of an hour, for "
                 "clients that read them only once")
      ->group(kGroup)
      ->default_str("true");
  app.add_option("--service-account-lookup", lists.lookup,
                 "whether the server looks up the service account of a token; must be true")
      ->group(kGroup)
      ->default_str("true");
  text("--requestheader-client-ca-file", o.requestheader_client_ca_file, "FILE",
       "the CA of front proxies' certificates (PEM)");
  list("--requestheader-allowed-names", lists.proxy_names, "LIST",
       "the common names that front proxies may have (default: any)");
  list("--requestheader-username-headers", lists.proxy_users, "LIST",
       "the headers in which a front proxy names the user, such as X-Remote-User");
  list("--requestheader-uid-headers", lists.proxy_uids, "LIST",
       "the headers with the user's uid, such as X-Remote-Uid");
  list("--requestheader-group-headers", lists.proxy_groups, "LIST",
       "the headers with the user's groups, such as X-Remote-Group");
  list("--requestheader-extra-headers-prefix", lists.proxy_extra, "LIST",
       "how the names of headers with more facts about the user begin, such as X-Remote-Extra-");
  text("--authentication-config", o.authentication_config, "FILE",
       "an AuthenticationConfiguration: the issuers whose tokens the server accepts, and which "
       "requests may be anonymous. The server takes over changes of the file");
  auto oidc = [&](const char* name, const char* what, const char* help) {
    app.add_option_function<std::vector<std::string>>(
           cat("--", name),
           [&o, name](const std::vector<std::string>& values) {
             for (const std::string& value : values)
               if (auto added = authn::add_oidc_flag(o.oidc, name, value); !added)
                 throw CLI::ValidationError(added.error().message);
           },
           help)
        ->allow_extra_args(false)
        ->type_name(what)
        ->group(kGroup);
  };
  oidc("oidc-issuer-url", "URL",
       "an issuer whose tokens the server accepts, given by flags instead of a file");
  oidc("oidc-client-id", "ID", "the audience that its tokens must name");
  oidc("oidc-ca-file", "FILE",
       "the CA of the issuer's certificate (PEM; default: the system's roots)");
  oidc("oidc-username-claim", "CLAIM", "the claim that names the user (default sub)");
  oidc("oidc-username-prefix", "PREFIX",
       "what the server puts before the user's name; - for nothing (default: ISSUER#, and nothing "
       "when the claim is email)");
  oidc("oidc-groups-claim", "CLAIM", "the claim with the user's groups");
  oidc("oidc-groups-prefix", "PREFIX", "what the server puts before the name of each group");
  oidc("oidc-signing-algs", "LIST", "the algorithms that may sign its tokens (default RS256)");
  oidc("oidc-required-claim", "CLAIM=VALUE", "a claim that must have this value. May be repeated");
  text("--authentication-token-webhook-config-file", o.webhook_config_file, "FILE",
       "a kubeconfig: the webhook that the server asks about tokens that it does not know");
  text("--authentication-token-webhook-version", o.webhook_version, "VERSION",
       "the version of the TokenReview that the server sends: v1 or v1beta1");
  text("--authentication-token-webhook-cache-ttl", lists.webhook_ttl, "DURATION",
       "how long the server keeps the answers of the token webhook");
}

void declare(CLI::App& app, ServeOptions& o, RawLists& lists) {
  auto list = [&](const char* name, std::vector<std::string>& to, const std::string& help,
                  const char* group) {
    auto* option = app.add_option(name, to, help)->allow_extra_args(false);
    option->type_name("LIST")->group(group);
    if (!to.empty()) option->default_str(join(to, ","));
  };
  auto text = [&](const char* name, std::string& to, const char* what, const std::string& help,
                  const char* group) {
    app.add_option(name, to, help)->type_name(what)->group(group)->capture_default_str();
  };
  app.get_help_ptr()->group("General");
  text("--data-dir", o.data_dir, "DIR",
       "the folder where the server keeps objects, certificates and admin.kubeconfig", "General");
  app.add_option("-v,--v", o.verbosity,
                 "how much the server logs. 0: errors, warnings and what happens to the server. 1 "
                 "and more: also what controllers fail at. 4 and more: also every request")
      ->type_name("LEVEL")
      ->group("General")
      ->capture_default_str();
  app.add_option("--log-format", lists.log_format,
                 "how the server writes lines of its log: text, or json for one object per line")
      ->type_name("FORMAT")
      ->group("General")
      ->capture_default_str();
  text("--logging-format", lists.logging_format, "FORMAT", "the same by kube-apiserver's name",
       "General");
  app.set_version_flag("--version", version_text(), "prints the version")->group("General");
  list("--feature-gates", lists.gates,
       "Name=true or Name=false for any of these:\n" + FeatureGates::help(), "General");

  text("--bind-address", o.bind_address, "IP", "the address that the server listens on", "Serving");
  app.add_option("--secure-port", o.secure_port, "the port for HTTPS")
      ->check(port_problem)
      ->type_name("PORT")
      ->group("Serving")
      ->capture_default_str();
  text("--tls-cert-file", o.tls_cert_file, "FILE",
       "the server's certificate and its issuers (PEM). The server makes one when none is given",
       "Serving");
  text("--tls-private-key-file", o.tls_private_key_file, "FILE", "the key of --tls-cert-file",
       "Serving");
  app.add_option(
         "--http2-max-streams-per-connection", o.http2_max_streams_per_connection,
         "how many requests a client may have open on one HTTP/2 connection; 0: the default")
      ->type_name("NUMBER")
      ->group("Serving")
      ->capture_default_str();
  declare_serving(app, lists.serving);
  declare_storage(app, lists.storage);
  app.add_flag("--ui", o.ui, "serves a page for browsers under /ui/, which shows who may do what")
      ->group("Serving");
  list("--ui-oidc-client-id", lists.ui_clients,
       "the public clients of the page: people sign in with authorization code and PKCE at each "
       "issuer of the authentication configuration that has one of these among its audiences",
       "Serving");
  list("--ui-oidc-extra-scope", lists.ui_scopes,
       "the scopes that the page asks issuers for, beside openid", "Serving");
  app.add_option(
         "--decision-history", o.decision_history,
         "how many of the last decisions that allowed a request the server keeps in memory, and as "
         "many refusals, for whoever may read decisions.access.cardea.dev; 0: none")
      ->check(history_problem)
      ->type_name("NUMBER")
      ->group("Authorization and admission")
      ->capture_default_str();
  app.add_option("--insecure-bench-port", o.insecure_bench_port,
                 "a port for plain HTTP on loopback, for benchmarks")
      ->check(port_problem)
      ->type_name("PORT")
      ->group("Serving");

  text("--client-ca-file", o.client_ca_file, "FILE",
       "CAs that may sign client certificates (PEM), beside the CA of the data directory",
       "Authentication");
  app.add_option("--enable-bootstrap-token-auth", o.authentication.bootstrap_tokens,
                 "whether Secrets of the type bootstrap.kubernetes.io/token in kube-system are "
                 "tokens with which machines join the cluster")
      ->group("Authentication")
      ->default_str("false");
  text("--token-auth-file", o.token_auth_file, "FILE",
       "static tokens: lines of token,user,uid,\"group,group\"", "Authentication");
  app.add_option("--anonymous-auth", o.anonymous_auth,
                 "whether a request without credentials is served as system:anonymous")
      ->group("Authentication")
      ->default_str("true");
  declare_authentication(app, o.authentication, lists);

  list("--authorization-mode", lists.modes,
       "the authorizers, in the order in which the server asks them: AlwaysAllow, AlwaysDeny, "
       "ABAC, Webhook, RBAC, Node, Access, Policy",
       "Authorization and admission");
  text("--authorization-config", o.authorization.config_file, "FILE",
       "an AuthorizationConfiguration, instead of --authorization-mode. The server takes over "
       "changes of the file",
       "Authorization and admission");
  text("--authorization-webhook-config-file", o.authorization.webhook_config_file, "FILE",
       "a kubeconfig: the server that the mode Webhook asks", "Authorization and admission");
  text("--authorization-webhook-version", o.authorization.webhook_version, "VERSION",
       "the version of the SubjectAccessReview that the mode Webhook sends: v1 or v1beta1",
       "Authorization and admission");
  text("--authorization-webhook-cache-authorized-ttl", lists.authorized_ttl, "DURATION",
       "how long the server keeps an answer that allows; 0s: it keeps none",
       "Authorization and admission");
  text("--authorization-webhook-cache-unauthorized-ttl", lists.unauthorized_ttl, "DURATION",
       "how long the server keeps any other answer; 0s: it keeps none",
       "Authorization and admission");
  text("--policy-master-namespace", o.policy_master_namespace, "NAMESPACE",
       "the master namespace of namespace policy: its roles may be bound in every namespace, and "
       "its bindings apply in all",
       "Authorization and admission");
  app.add_flag("--reset-bootstrap-policy", o.reset_bootstrap_policy,
               "gives the roles view, edit, admin and cluster-admin of the master namespace the "
               "rules that the server makes, whoever changed them")
      ->group("Authorization and admission");
  text("--policy-config", o.policy_config_file, "FILE",
       "a file that tells namespace policy more: resourceGroups {NAME: [RESOURCE...]} and "
       "nodeNames {USER: NODE}",
       "Authorization and admission");
  list("--enable-admission-plugins", lists.enable,
       "the plugins that the server adds to the default ones", "Authorization and admission");
  list("--disable-admission-plugins", lists.disable,
       "the default plugins that the server leaves out", "Authorization and admission");
  app.add_flag(
         "--dra-admin-access-policy", o.dra_admin_access_policy,
         "makes and keeps a ClusterAccessPolicy that denies resource claims with adminAccess, "
         "except in namespaces with the label resource.kubernetes.io/admin-access=true")
      ->group("Authorization and admission");
  app.add_option("--allow-privileged", o.allow_privileged,
                 "whether the server admits privileged containers")
      ->group("Authorization and admission")
      ->default_str("false");

  declare_audit(app, o.audit);
  declare_backends(app, lists.backends);
  declare_bridge(app, lists.bridge);

  text("--admission-control-config-file", o.admission_config_file, "FILE",
       "an AdmissionConfiguration: the defaults and exemptions of PodSecurity, and what "
       "ResourceQuota limits without a quota",
       "Authorization and admission");
  text("--tracing-config-file", o.tracing_config_file, "FILE",
       "a TracingConfiguration: where traces of requests go (OTLP over HTTP), and of how many",
       "Cluster");
  text("--egress-selector-config-file", o.egress_selector_config_file, "FILE",
       "an EgressSelectorConfiguration: the proxies through which the server reaches nodes, "
       "services, webhooks and issuers",
       "Cluster");
  auto seconds = [&](const char* name, std::int64_t& to, const char* help) {
    app.add_option(name, to, help)
        ->type_name("SECONDS")
        ->group("Authorization and admission")
        ->capture_default_str();
  };
  seconds("--default-not-ready-toleration-seconds", o.not_ready_toleration_seconds,
          "how long pods that do not say stay on a node that is not ready");
  seconds("--default-unreachable-toleration-seconds", o.unreachable_toleration_seconds,
          "how long pods that do not say stay on a node that is not reached");

  list("--runtime-config", lists.runtime_config,
       "versions and resources that the server serves or not: api/all, api/ga, api/beta, "
       "api/alpha, GROUP/VERSION or GROUP/VERSION/RESOURCE, each with =true or =false",
       "Cluster");
  list("--controllers", lists.controllers,
       "the controllers that the server runs: * for all (the default), -NAME to leave one out, "
       "NAME to add one, empty for none. Those of * step aside while a kube-controller-manager "
       "holds "
       "its lease. There are\n  " +
           join(rest::known_controllers(), "\n  "),
       "Cluster");
  text("--service-cluster-ip-range", o.service_cluster_ip_range, "CIDR[,CIDR]",
       "the range of cluster IPs, or one of each family; that of services which do not say comes "
       "first",
       "Cluster");
  text("--service-node-port-range", o.service_node_port_range, "FIRST-LAST",
       "the range of node ports", "Cluster");
  text("--event-ttl", lists.event_ttl, "DURATION",
       "how long the server keeps an Event after it was last written", "Cluster");
}

std::optional<std::string> twice(const std::vector<std::string>& list) {
  for (auto at = list.begin(); at != list.end(); ++at)
    if (std::find(list.begin(), at, *at) != at) return *at;
  return std::nullopt;
}

// Flags that are wrong, alone or together.
Result<void> check(const ServeOptions& o) {
  auto wrong = [](std::string why) { return fail(bad_request(std::move(why))); };
  if (o.data_dir.empty()) return wrong("--data-dir is empty");
  if (!is_address(o.bind_address))
    return wrong(cat("--bind-address `", o.bind_address, "` is not an IP address"));
  if (o.secure_port == 0) return wrong("--secure-port must be between 1 and 65535");
  if (o.insecure_bench_port == o.secure_port)
    return wrong("--insecure-bench-port and --secure-port are the same");
  if (o.tls_cert_file.empty() != o.tls_private_key_file.empty())
    return wrong("--tls-cert-file and --tls-private-key-file go together");
  if (o.authorization_modes.empty()) return wrong("--authorization-mode names no mode");
  for (const std::string& mode : o.authorization_modes)
    if (!contains(kModes, mode))
      return wrong(cat("--authorization-mode: unknown mode `", mode, "`"));
  if (auto mode = twice(o.authorization_modes))
    return wrong(cat("--authorization-mode names `", *mode, "` twice"));
  for (const std::string& plugin : o.enable_admission_plugins)
    if (contains(o.disable_admission_plugins, plugin))
      return wrong(cat("admission plugin `", plugin, "` is both enabled and disabled"));
  if (!dns_label_problems(o.policy_master_namespace).empty())
    return wrong(cat("--policy-master-namespace: `", o.policy_master_namespace,
                     "` cannot be the name of a namespace"));
  if (o.not_ready_toleration_seconds < 0 || o.unreachable_toleration_seconds < 0)
    return wrong("the default toleration seconds must not be negative");
  if (o.verbosity < 0) return wrong("--v must not be negative");
  return {};
}

// As a URL must begin; what follows is for those who follow it.
bool has_scheme(std::string_view text) {
  std::string_view scheme = text.substr(0, text.find(':'));
  return !scheme.empty() && scheme.size() < text.size() &&
         std::isalpha(static_cast<unsigned char>(scheme[0])) &&
         std::ranges::all_of(
             scheme,
             [](unsigned char c) { return std::isalnum(c) || c == '+' || c == '-' || c == '.'; });
}

Result<std::chrono::seconds> seconds_in(std::string_view flag, std::string_view text) {
  auto parsed = parse_duration(text);
  if (!parsed || *parsed < std::chrono::nanoseconds(0))
    return fail(bad_request(cat(flag, " `", text, "` is not a duration")));
  return std::chrono::duration_cast<std::chrono::seconds>(*parsed);
}

Result<void> complete_authentication(AuthenticationOptions& o, const RawLists& lists) {
  auto wrong = [](std::string why) { return fail(bad_request(std::move(why))); };
  o.api_audiences = flatten(lists.audiences);
  o.request_header = {flatten(lists.proxy_users), flatten(lists.proxy_uids),
                      flatten(lists.proxy_groups), flatten(lists.proxy_extra),
                      flatten(lists.proxy_names)};
  if (auto fit = authn::check_oidc_flags(o.oidc, !o.authentication_config.empty()); !fit)
    return fail(fit.error());
  if (auto known = authn::algorithms_of(o.oidc); !known) return fail(known.error());
  if (!o.requestheader_client_ca_file.empty() && o.request_header.username_headers.empty())
    return wrong("--requestheader-client-ca-file needs --requestheader-username-headers");
  auto longest = seconds_in("--service-account-max-token-expiration", lists.max_token_expiration);
  if (!longest) return fail(longest.error());
  if (longest->count() != 0 && (*longest < std::chrono::hours(1) || longest->count() > (1ll << 32)))
    return wrong(
        "the service-account-max-token-expiration must be between 1 hour and 2^32 seconds");
  o.service_account_max_token_expiration = *longest;
  if (!lists.lookup)
    return wrong("--service-account-lookup=false would accept tokens of deleted accounts");
  if (auto issuer = twice(o.service_account_issuers))
    return wrong(cat("--service-account-issuer names `", *issuer, "` twice"));
  for (const std::string& issuer : o.service_account_issuers) {
    if (issuer.empty()) return wrong("--service-account-issuer is empty");
    if (issuer.contains(':') && !has_scheme(issuer))
      return wrong(
          cat("--service-account-issuer `", issuer, "` contains a colon, but is not a URL"));
  }
  if (const std::string& uri = o.service_account_jwks_uri; !uri.empty())
    if (auto url = http::parse_url(uri); !url || !url->tls)
      return wrong(cat("--service-account-jwks-uri `", uri, "` is not an https URL"));
  auto ttl = seconds_in("--authentication-token-webhook-cache-ttl", lists.webhook_ttl);
  if (!ttl) return fail(ttl.error());
  o.webhook_cache_ttl = *ttl;
  if (o.webhook_version != "v1" && o.webhook_version != "v1beta1")
    return wrong(
        cat("--authentication-token-webhook-version: unknown version `", o.webhook_version, "`"));
  return {};
}

Result<void> complete_authorization(ServeOptions& o, const RawLists& lists) {
  auto wrong = [](std::string why) { return fail(bad_request(std::move(why))); };
  AuthorizationOptions& a = o.authorization;
  bool asks = contains(o.authorization_modes, "Webhook");
  if (!a.config_file.empty()) {
    if (lists.is_mode_given || !a.webhook_config_file.empty())
      return wrong(
          "--authorization-config can not be specified when --authorization-mode or "
          "--authorization-webhook-* flags are defined");
    o.authorization_modes.clear();
    return {};
  }
  if (asks && a.webhook_config_file.empty())
    return wrong(
        "authorization-mode Webhook's authorization config file not passed: "
        "--authorization-webhook-config-file");
  if (!asks && !a.webhook_config_file.empty())
    return wrong("cannot specify --authorization-webhook-config-file without mode Webhook");
  if (a.webhook_version != "v1" && a.webhook_version != "v1beta1")
    return wrong(cat("--authorization-webhook-version: unknown version `", a.webhook_version, "`"));
  auto authorized = seconds_in("--authorization-webhook-cache-authorized-ttl",
                               lists.authorized_ttl);
  if (!authorized) return fail(authorized.error());
  auto unauthorized = seconds_in("--authorization-webhook-cache-unauthorized-ttl",
                                 lists.unauthorized_ttl);
  if (!unauthorized) return fail(unauthorized.error());
  a.webhook_authorized_ttl = *authorized;
  a.webhook_unauthorized_ttl = *unauthorized;
  return {};
}

Result<void> complete(ServeOptions& o, const RawLists& lists, bool asked_for_anonymous) {
  const std::string& format = lists.logging_format.empty() ? lists.log_format
                                                           : lists.logging_format;
  if (format != "text" && format != "json")
    return fail(bad_request(cat("--log-format: `", format, "` is neither text nor json")));
  o.log_format = format == "json" ? LogFormat::kJson : LogFormat::kText;
  auto event_ttl = seconds_in("--event-ttl", lists.event_ttl);
  if (!event_ttl) return fail(event_ttl.error());
  if (*event_ttl < std::chrono::seconds(1) || *event_ttl > std::chrono::years(10))
    return fail(bad_request("--event-ttl must be between one second and ten years"));
  o.event_ttl = *event_ttl;
  auto serving = read_serving(lists.serving);
  if (!serving) return fail(serving.error());
  o.serving = std::move(*serving);
  auto storage = read_storage(lists.storage);
  if (!storage) return fail(storage.error());
  o.storage = std::move(*storage);
  auto backends = read_backends(lists.backends);
  if (!backends) return fail(backends.error());
  o.backends = std::move(*backends);
  auto bridge = read_bridge(lists.bridge);
  if (!bridge) return fail(bridge.error());
  o.bridge = std::move(*bridge);
  o.authentication.anonymous_auth_given = asked_for_anonymous;
  o.authorization_modes = flatten(lists.modes);
  o.enable_admission_plugins = flatten(lists.enable);
  o.disable_admission_plugins = flatten(lists.disable);
  o.runtime_config = flatten(lists.runtime_config);
  o.ui_oidc_clients = flatten(lists.ui_clients);
  o.ui_oidc_scopes = flatten(lists.ui_scopes);
  if (!o.ui && !(o.ui_oidc_clients.empty() && o.ui_oidc_scopes.empty()))
    return fail(bad_request("--ui-oidc-client-id and --ui-oidc-extra-scope need --ui"));
  if (auto ok = check(o); !ok) return ok;
  if (auto ok = complete_authentication(o.authentication, lists); !ok) return ok;
  if (auto ok = complete_authorization(o, lists); !ok) return ok;
  if (auto ok = complete_audit(o.audit); !ok) return ok;
  auto gates = FeatureGates::parse(flatten(lists.gates));
  if (!gates) return fail(bad_request(cat("--feature-gates: ", gates.error().message)));
  o.gates = std::move(*gates);
  o.warnings = o.serving.warnings;
  std::ranges::copy(o.gates.warnings(), std::back_inserter(o.warnings));
  if (std::string warning = o.audit.warning(); !warning.empty())
    o.warnings.push_back(std::move(warning));
  if (o.gates.on("ConditionalAuthorization") &&
      contains(o.disable_admission_plugins, "AuthorizationConditionsEnforcer"))
    return fail(
        bad_request("the gate ConditionalAuthorization, which is on, needs the admission plugin "
                    "`AuthorizationConditionsEnforcer`: no other plugin enforces the conditions"));
  if (o.gates.on("NodeConditionalAuthorization") && !o.gates.on("ConditionalAuthorization"))
    return fail(bad_request(
        "the gate NodeConditionalAuthorization needs the gate ConditionalAuthorization"));
  if (o.bridge.is_on() && !o.gates.on("ConditionalAuthorization"))
    return fail(bad_request("--bridge-kubeconfig needs the gate ConditionalAuthorization"));
  auto controllers = rest::select_controllers(flatten(lists.controllers));
  if (!controllers) return fail(bad_request(cat("--controllers: ", controllers.error().message)));
  o.controllers = std::move(*controllers);
  o.lasting_controllers = rest::named_controllers(flatten(lists.controllers));
  // Together they would open the server to everyone who can reach it.
  if (o.anonymous_auth && contains(o.authorization_modes, "AlwaysAllow")) {
    if (asked_for_anonymous)
      return fail(
          bad_request("--anonymous-auth=true and --authorization-mode=AlwaysAllow would allow "
                      "every request of every client"));
    o.anonymous_auth = false;
    o.warnings.push_back(
        "anonymous requests are refused, because AlwaysAllow would allow them everything");
  }
  return {};
}

// Every flag by its long name, with the value it was given or its default.
std::vector<std::pair<std::string, std::string>> values_of(const CLI::App& app) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames())
      if (name != "help" && name.size() > 1)
        out.emplace_back(
            name, option->count() > 0 ? join(option->results(), ",") : option->get_default_str());
  std::ranges::sort(out);
  return out;
}

}  // namespace

std::variant<ServeOptions, int> parse_serve_options(int argc, char** argv) {
  ServeOptions o;
  RawLists lists;
  CommandLine line({"serve", "Runs a Kubernetes-compatible API server.", {}});
  CLI::App& app = line.parser();
  declare(app, o, lists);
  KubeFlags others;
  others.declare(line);
  for (std::string_view name : kSwitches) line.takes_switch(name);
  if (auto status = line.read(argc, argv)) return *status;
  lists.is_mode_given = app.count("--authorization-mode") > 0;
  auto ok = complete(o, lists, app.count("--anonymous-auth") > 0);
  if (!ok) return line.misuse(ok.error().message);
  auto unused = others.warnings();
  if (!unused) return line.misuse(unused.error().message);
  std::ranges::move(*unused, std::back_inserter(o.warnings));
  o.flags = values_of(app);
  return o;
}

}  // namespace cardea::app
