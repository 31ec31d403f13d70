#include "app/jwt_authentication.h"

#include <string_view>

#include "authn/anonymous_paths.h"
#include "base/strings.h"
#include "json/yaml.h"
#include "net/file_watch.h"

namespace cardea::app {

Result<JwtSource> read_jwt_source(const AuthenticationOptions& options) {
  if (auto fit = authn::check_oidc_flags(options.oidc, !options.authentication_config.empty());
      !fit)
    return fail(std::move(fit.error()));
  JwtSource source;
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

static std::string told(const authn::IssuerSet& issuers) {
  std::vector<std::string> urls;
  for (const auto& issuer : issuers.issuers())
    urls.push_back(cat("`", issuer->config().issuer.url, "`"));
  return cat("tokens are accepted from the issuers ", join(urls, ", "));
}

Result<JwtAuthentication> make_jwt_authentication(const AuthenticationOptions& options,
                                                  const JwtParts& parts) {
  auto source = read_jwt_source(options);
  if (!source) return fail(std::move(source.error()));
  if (auto fit = authn::check_anonymous(source->config, options.anonymous_auth_given); !fit)
    return fail(std::move(fit.error()));
  JwtAuthentication made;
  made.metrics = std::make_unique<authn::AuthenticationMetrics>(parts.server_id);
  authn::IssuerParts issuer_parts{.loop = parts.loop,
                                  .dialer = parts.dialer,
                                  .egress = parts.egress,
                                  .clock = parts.clock,
                                  .metrics = *made.metrics,
                                  .log = parts.log.lines(LogLevel::kWarning),
                                  .context = {.disallowed_issuers = parts.account_issuers,
                                              .egress_selectors = parts.egress_selectors},
                                  .algorithms = source->algorithms};
  auto issuers = authn::build_issuers(source->config, issuer_parts);
  if (!issuers) return fail(std::move(issuers.error()));
  if (!(*issuers)->issuers().empty()) parts.log.write(LogLevel::kInfo, told(**issuers));
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

}  // namespace cardea::app
