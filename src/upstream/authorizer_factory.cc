#include "upstream/authorizer_factory.h"

#include "authz/webhook/webhook_authorizer.h"
#include "base/strings.h"
#include "upstream/webhook_client.h"

namespace cardea::upstream {
namespace {

// The client that evaluates conditions; null when there are none. Without its own context it is
// the client for requests.
Result<std::shared_ptr<const WebhookClient>> client_for_conditions(const authz::WebhookConfig& w,
                                                                   Endpoint upstream,
                                                                   WebhookOptions calls,
                                                                   const WebhookSurroundings& s) {
  std::shared_ptr<const WebhookClient> none;
  if (!w.conditions_context && !w.conditions_review) return none;
  std::string context = w.conditions_context ? *w.conditions_context : w.conditions_review->context;
  if (w.connection_type == "InClusterConfig") {
    auto cluster = in_cluster_endpoint();
    if (!cluster) return fail(cluster.error());
    upstream = std::move(*cluster);
    upstream.server += "/apis/authorization.k8s.io/v1alpha1/authorizationconditionsreviews";
  } else if (!context.empty()) {
    auto other = read_kubeconfig(w.kubeconfig_file.value_or(""), context);
    if (!other) return fail(other.error());
    upstream = std::move(*other);
  }
  calls.tried = nullptr;  // has its own metrics
  auto client = WebhookClient::make(s.loop, s.dialer, std::move(upstream), std::move(calls),
                                    &s.files);
  if (!client) return fail(client.error());
  return std::shared_ptr<const WebhookClient>(std::move(*client));
}

}  // namespace

Result<std::shared_ptr<const authz::Authorizer>> make_webhook_authorizer(
    const authz::AuthorizerConfig& config, const WebhookSurroundings& s) {
  const authz::WebhookConfig& w = *config.webhook;
  auto wrong = [&](const std::string& why) {
    return fail(bad_request(cat("authorizer `", config.name, "`: ", why)));
  };
  auto upstream = w.connection_type == "InClusterConfig"
                      ? in_cluster_endpoint()
                      : read_kubeconfig(w.kubeconfig_file.value_or(""));
  if (!upstream) return wrong(upstream.error().message);
  if (w.connection_type == "InClusterConfig")
    upstream->server += cat("/apis/authorization.k8s.io/", w.review_version,
                            "/subjectaccessreviews");
  auto conditions = authz::MatchConditions::compile(w.match_conditions, "matchConditions");
  if (!conditions) return wrong(conditions.error().front().message());
  auto metrics = std::make_shared<authz::WebhookMetrics>(s.metrics, config.name);
  WebhookOptions calls{
      .timeout = std::chrono::ceil<std::chrono::milliseconds>(w.timeout),
      .random = &s.random,
      .tried = [metrics](const Result<json::Value>& answer, std::chrono::nanoseconds took) {
        metrics->tried(answer, took);
      }};
  auto conditions_client = client_for_conditions(w, *upstream, calls, s);
  if (!conditions_client) return wrong(conditions_client.error().message);
  auto client = WebhookClient::make(s.loop, s.dialer, std::move(*upstream), std::move(calls),
                                    &s.files);
  if (!client) return wrong(client.error().message);
  authz::WebhookAuthorizerOptions options{
      .name = config.name,
      .review_version = w.review_version,
      .denies_on_failure = w.failure_policy == "Deny",
      .authorized_ttl = w.cache_authorized ? w.authorized_ttl : std::chrono::nanoseconds(0),
      .unauthorized_ttl = w.cache_unauthorized ? w.unauthorized_ttl : std::chrono::nanoseconds(0),
      .conditions = std::move(*conditions),
      .dialect = w.conditions_context  ? authz::wire::Dialect::kList
                 : w.conditions_review ? authz::wire::Dialect::kTree
                                       : authz::wire::Dialect::kNone,
      .conditions_client = std::move(*conditions_client),
      .random = &s.random,
      .server_id = s.server_id};
  return std::make_shared<authz::WebhookAuthorizer>(std::move(options), std::move(*client), s.clock,
                                                    std::move(metrics));
}

}  // namespace cardea::upstream
