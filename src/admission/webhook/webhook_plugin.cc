#include "admission/webhook/webhook_plugin.h"

#include "admission/policy/policy_match.h"
#include "base/strings.h"

namespace cardea::admission {

WebhookPlugin::WebhookPlugin(bool is_mutating, Objects objects, const authz::CurrentChain& chain,
                             const Outside& outside, std::unique_ptr<WebhookFeed> feed)
    : is_mutating_(is_mutating),
      objects_(objects),
      chain_(chain),
      caller_(objects, outside),
      counts_(outside.metrics, is_mutating),
      feed_(std::move(feed)) {}

bool WebhookPlugin::handles(const Review& review) const {
  return !feed_->current()->about(review.resource.name).empty() &&
         !is_admission_configuration(review);
}

std::optional<Error> WebhookPlugin::call_failed(const Review& review, const Webhook& hook,
                                                const Error& why, std::string_view place) const {
  using Outcome = WebhookCounts::Outcome;
  counts_.asked(hook, review.operation, hook.fails_open ? Outcome::kFailedOpen : Outcome::kFailed,
                500);
  if (!hook.fails_open) return calling_failure(hook, why);
  review.annotate(cat("failed-open.", is_mutating_ ? "mutating" : "validating",
                      ".webhook.admission.k8s.io/", place),
                  hook.name);
  return std::nullopt;
}

void WebhookPlugin::pass_on(const Review& review, const Webhook& hook,
                            const WebhookAnswer& answer) {
  for (const auto& [key, value] : answer.annotations)
    review.annotate(cat(hook.name, "/", key), value);
  for (const std::string& w : answer.warnings) review.warnings.push_back(w);
}

}  // namespace cardea::admission
