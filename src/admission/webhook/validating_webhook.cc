#include "admission/plugins.h"
#include "admission/policy/policy_match.h"
#include "admission/webhook/webhook_caller.h"
#include "admission/webhook/webhook_feed.h"
#include "admission/webhook/webhook_invocation.h"
#include "base/strings.h"

namespace cardea::admission {
namespace {

class ValidatingAdmissionWebhook : public Plugin {
 public:
  ValidatingAdmissionWebhook(Objects objects, const authz::CurrentChain& chain, Outside outside,
                             std::unique_ptr<WebhookFeed> feed)
      : objects_(objects),
        chain_(chain),
        caller_(objects, outside),
        counts_(outside.metrics, false),
        feed_(std::move(feed)) {}
  std::string_view name() const override { return "ValidatingAdmissionWebhook"; }

  bool handles(const Review& r) const override {
    return !feed_->current()->about(r.resource.name).empty() && !is_admission_configuration(r);
  }

  Task<Result<void>> validate(const Review& review) const override {
    const std::shared_ptr<const WebhookSet> set = feed_->current();
    WebhookInvocations invocations(review, objects_, chain_.get());
    std::vector<WebhookCaller::Question> questions;
    std::vector<Error> refusals;
    for (const WebhookSet::Entry& entry : set->about(review.resource.name)) {
      Result<const catalog::Resource*> as = co_await invocations.concerns(entry.hook);
      if (!as) co_return fail(as.error());
      if (*as == nullptr) continue;
      if (auto refused = dry_run_refusal(*entry.hook, review))
        refusals.push_back(std::move(*refused));
      else
        questions.push_back({entry.hook, &invocations.input(**as)});
    }
    if (questions.empty() && refusals.empty()) co_return Result<void>{};
    std::vector<Result<WebhookAnswer>> answers = co_await caller_.ask(questions, review.catalog,
                                                                      false, review.loop);
    for (std::size_t i = 0; i < questions.size(); ++i)
      take(review, *questions[i].hook, i, answers[i], refusals);
    if (!refusals.empty()) co_return fail(refusals.front());
    co_return Result<void>{};
  }

 private:
  // The first refusal is the one the client reads, and with it goes its Status.
  void take(const Review& review, const Webhook& hook, std::size_t index,
            const Result<WebhookAnswer>& answer, std::vector<Error>& refusals) const {
    if (!answer) {
      counts_.asked(
          hook, review.operation,
          hook.fails_open ? WebhookCounts::Outcome::kFailedOpen : WebhookCounts::Outcome::kFailed,
          500);
      if (!hook.fails_open)
        refusals.push_back(calling_failure(hook, answer.error()));
      else
        review.annotate(
            cat("failed-open.validating.webhook.admission.k8s.io/round_0_index_", index),
            hook.name);
      return;
    }
    for (const auto& [key, value] : answer->annotations)
      review.annotate(cat(hook.name, "/", key), value);
    for (const std::string& w : answer->warnings) review.warnings.push_back(w);
    if (!answer->is_allowed) {
      Review without = review;
      without.refusal = refusals.empty() ? review.refusal : nullptr;
      refusals.push_back(webhook_refusal(hook, answer->status, without));
    }
    counts_.asked(
        hook, review.operation,
        answer->is_allowed ? WebhookCounts::Outcome::kAllowed : WebhookCounts::Outcome::kDenied,
        answer->is_allowed ? 200 : refusals.back().code);
  }

  Objects objects_;
  const authz::CurrentChain& chain_;
  WebhookCaller caller_;
  WebhookCounts counts_;
  std::unique_ptr<WebhookFeed> feed_;
};

}  // namespace

Result<std::unique_ptr<Plugin>> validating_admission_webhook(Objects objects,
                                                             const authz::CurrentChain& authorizer,
                                                             const Outside* outside) {
  auto feed = WebhookFeed::start(objects.store(), false);
  if (!feed) return fail(feed.error());
  return std::make_unique<ValidatingAdmissionWebhook>(objects, authorizer, *outside,
                                                      std::move(*feed));
}

}  // namespace cardea::admission
