#include "app/authorizer_chain.h"

#include <algorithm>

#include "app/machine.h"
#include "base/strings.h"
#include "net/file_watch.h"

namespace cardea::app {
namespace {

authz::AuthorizerTypes types(const ServeOptions& o) {
  return known_authorizer_types(o.gates.on("ConditionalAuthorization"));
}

}  // namespace

authz::AuthorizerTypes known_authorizer_types(bool conditions) {
  authz::AuthorizerTypes types;
  types.known.insert(types.known.begin() + 1, "Access");
  types.known.insert(std::ranges::find(types.known, "RBAC"), "Policy");
  types.conditions = conditions;
  return types;
}

authz::AuthorizationConfig config_of_flags(const ServeOptions& o) {
  authz::AuthorizationConfig config;
  for (const std::string& mode : o.authorization_modes) {
    authz::AuthorizerConfig& one = config.authorizers.emplace_back(
        mode, mode == "Webhook" ? "default" : lower(mode), std::nullopt);
    if (mode != "Webhook") continue;
    const AuthorizationOptions& a = o.authorization;
    one.webhook = authz::WebhookConfig{
        .authorized_ttl = a.webhook_authorized_ttl,
        .unauthorized_ttl = a.webhook_unauthorized_ttl,
        .cache_authorized = a.webhook_authorized_ttl.count() != 0,
        .cache_unauthorized = a.webhook_unauthorized_ttl.count() != 0,
        .timeout = std::chrono::seconds(30),
        .review_version = a.webhook_version,
        .match_condition_review_version = {},
        .failure_policy = "NoOpinion",
        .connection_type = "KubeConfigFile",
        .kubeconfig_file = a.webhook_config_file,
        .match_conditions = {},
        .conditions_context = {},
        .conditions_review = {}};
  }
  return config;
}

Result<std::shared_ptr<const authz::Chain>> AuthorizerChain::build(
    const authz::AuthorizationConfig& config) const {
  std::vector<std::shared_ptr<const authz::Authorizer>> list{authz::masters_authorizer()};
  for (const authz::AuthorizerConfig& a : config.authorizers) {
    if (a.type == "Webhook") {
      auto webhook = upstream::make_webhook_authorizer(a, surroundings_);
      if (!webhook) return fail(webhook.error());
      list.push_back(std::move(*webhook));
    } else if (a.type == "AlwaysAllow") {
      // Together they would open the server to everyone who can reach it.
      if (takes_anonymous_)
        return fail(bad_request(
            "AlwaysAllow needs --anonymous-auth=false, or `anonymous: {enabled: false}` in the "
            "file of --authentication-config: it would allow every request of every client"));
      list.push_back(authz::always_allow());
    } else if (a.type == "AlwaysDeny") {
      list.push_back(authz::always_deny());
    } else if (auto found = built_ins_.find(a.type); found != built_ins_.end()) {
      list.push_back(found->second);
    } else {
      log_.write(LogLevel::kWarning,
                 cat("authorization mode ", a.type, " is not built yet and allows nothing"));
      list.push_back(authz::unavailable_mode(a.type));
    }
  }
  return std::make_shared<const authz::Chain>(std::move(list), &surroundings_.metrics);
}

Result<std::shared_ptr<AuthorizerChain>> AuthorizerChain::make(
    const ServeOptions& o, BuiltIns built_ins, const upstream::WebhookSurroundings& surroundings,
    const Log& log) {
  std::shared_ptr<AuthorizerChain> self(
      new AuthorizerChain(std::move(built_ins), surroundings, log, o.anonymous_auth));
  const std::string& file = o.authorization.config_file;
  Result<authz::AuthorizationConfig> config = config_of_flags(o);
  std::string text;
  if (!file.empty()) {
    auto read = net::read_whole_file(file);
    if (!read) return fail(read.error());
    text = std::move(*read);
    config = authz::load_authorization_config(text, {}, types(o));
    if (!config) return fail(bad_request(cat("`", file, "`: ", config.error().message)));
  }
  auto chain = self->build(*config);
  if (!chain) return fail(chain.error());
  self->current_.set(std::move(*chain));
  if (file.empty()) return self;
  self->reload_.emplace(
      feeds::ChainReload::Parts{
          .chain = self->current_,
          .build =
              [raw = self.get()](const authz::AuthorizationConfig& c) { return raw->build(c); },
          .metrics = surroundings.metrics,
          .clock = surroundings.clock,
          .log = log.lines(LogLevel::kInfo),
          .server_id = host_name(),
          .types = types(o)},
      *config, text);
  surroundings.files.watch_texts(
      {file}, {text}, [weak = std::weak_ptr(self)](Result<std::vector<std::string>> texts) {
        if (auto held = weak.lock())
          held->reload_->take(texts ? Result<std::string>(texts->front()) : fail(texts.error()));
      });
  return self;
}

}  // namespace cardea::app
