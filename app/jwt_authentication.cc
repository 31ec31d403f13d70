#include "app/jwt_authentication.h"

#include <cstdio>
#include <string_view>

#include "app/log.h"
#include "authn/anonymous_paths.h"
#include "base/strings.h"
#include "json/yaml.h"
#include "net/file_watch.h"

namespace cardea::app {
namespace {

struct Source {
  authn::AuthenticationConfig config;
  std::string text;  // of the file, or empty
  authn::AlgorithmSet algorithms = authn::AlgorithmSet::all();
};

Result<Source> read_source(const AuthenticationOptions& options) {
  if (auto fit = authn::check_oidc_flags(options.oidc, !options.authentication_config.empty());
      !fit)
    return fail(std::move(fit.error()));
  Source source;
  if (!options.authentication_config.empty()) {
    auto text = net::read_whole_file(options.authentication_config);
    auto config = text ? authn::read_authentication_config(options.authentication_config, *text)
                       : authn::read_authentication_config(options.authentication_config);
    if (!config) return fail(std::move(config.error()));
    source.config = std::move(*config);
    if (text) source.text = std::move(*text);
    return source;
  }
  auto algorithms = authn::algorithms_of(options.oidc);
  if (!algorithms) return fail(std::move(algorithms.error()));
  source.algorithms = *algorithms;
  std::string ca;
  if (!options.oidc.ca_file.empty()) {
    auto text = net::read_whole_file(options.oidc.ca_file);
    if (!text) return fail(std::move(text.error()));
    ca = std::move(*text);
  }
  source.config = authn::config_of(options.oidc, ca);
  return source;
}

}  // namespace

Result<JwtAuthentication> make_jwt_authentication(const AuthenticationOptions& options,
                                                  const JwtParts& parts) {
  auto source = read_source(options);
  if (!source) return fail(std::move(source.error()));
  if (auto fit = authn::check_anonymous(source->config, options.anonymous_auth_given); !fit)
    return fail(std::move(fit.error()));
  JwtAuthentication made;
  made.metrics = std::make_unique<authn::AuthenticationMetrics>(parts.server_id);
  authn::IssuerParts issuer_parts{.loop = parts.loop,
                                  .dialer = parts.dialer,
                                  .clock = parts.clock,
                                  .metrics = *made.metrics,
                                  .log = log_line,
                                  .context = {.disallowed_issuers = parts.account_issuers,
                                              .egress_selectors = parts.egress_selectors},
                                  .algorithms = source->algorithms};
  auto issuers = authn::build_issuers(source->config, issuer_parts);
  if (!issuers) return fail(std::move(issuers.error()));
  made.authenticators = std::make_shared<authn::JwtAuthenticators>(
      std::move(*issuers), parts.audiences, parts.clock, made.metrics.get());
  const auto& anonymous = source->config.anonymous;
  if (anonymous ? anonymous->enabled : parts.anonymous_auth)
    made.anonymous = anonymous && !anonymous->paths.empty()
                         ? authn::anonymous_authenticator_for(anonymous->paths)
                         : authn::anonymous_authenticator();
  if (!options.authentication_config.empty())
    made.reload = std::make_unique<authn::AuthenticationReload>(
        authn::AuthenticationReload::Options{.file = options.authentication_config,
                                             .text = std::move(source->text),
                                             .anonymous = anonymous},
        std::move(issuer_parts), *made.authenticators, *made.metrics);
  return made;
}

int migrate_command(int argc, char** argv) {
  constexpr char kUsage
      [] = "Usage: cardea migrate oidc-flags [kube-apiserver flags...]\n\nPrints the "
           "--authentication-config file that means what the --oidc-* flags among them mean.\n";
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "--help" || what == "-h") {
    std::fputs(kUsage, stdout);
    return 0;
  }
  if (what != "oidc-flags") {
    std::fputs(kUsage, stderr);
    return 2;
  }
  auto refuse = [](const Error& error) {
    std::fprintf(stderr, "cardea migrate: %s\n", error.message.c_str());
    return 2;
  };
  std::vector<std::string> others;
  auto flags = authn::parse_oidc_flags({argv + 2, argv + argc}, others);
  if (!flags) return refuse(flags.error());
  if (flags->given.empty()) return refuse(bad_request("no --oidc-* flag is given"));
  AuthenticationOptions options;
  options.oidc = *flags;
  auto source = read_source(options);
  if (!source) return refuse(source.error());
  if (auto errors = authn::validate(source->config, {}); !errors.empty())
    return refuse(bad_request(authn::message_of(errors)));
  if (source->algorithms.names() != authn::AlgorithmSet::all().names())
    std::fprintf(stderr,
                 "cardea migrate: note: with a file every algorithm is accepted, not only %s\n",
                 join(source->algorithms.names(), ", ").c_str());
  std::fputs(json::print_yaml(authn::document_of(source->config)).c_str(), stdout);
  return 0;
}

}  // namespace cardea::app
