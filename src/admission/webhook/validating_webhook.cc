#include "admission/plugins.h"
#include "admission/webhook/webhook_plugin.h"
#include "base/strings.h"

namespace cardea::admission {
namespace {

class ValidatingAdmissionWebhook : public WebhookPlugin {
 public:
  static constexpr bool kIsMutating = false;
  ValidatingAdmissionWebhook(Objects objects, const authz::CurrentChain& chain,
                             const Outside& outside, std::unique_ptr<WebhookFeed> feed)
      : WebhookPlugin(kIsMutating, objects, chain, outside, std::move(feed)) {}
  std::string_view name() const override { return "ValidatingAdmissionWebhook"; }

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
        questions.push_back({entry.hook, &invocations.input(**as), review.operation});
    }
    if (questions.empty() && refusals.empty()) co_return Result<void>{};
    std::vector<Result<WebhookAnswer>> answers = co_await caller_.ask(questions, review, false);
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
      if (auto refused = call_failed(review, hook, answer.error(), cat("round_0_index_", index)))
        refusals.push_back(std::move(*refused));
      return;
    }
    pass_on(review, hook, *answer);
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
};

}  // namespace

Result<std::unique_ptr<Plugin>> validating_admission_webhook(Objects objects,
                                                             const authz::CurrentChain& authorizer,
                                                             const Outside* outside) {
  return make_webhook_plugin<ValidatingAdmissionWebhook>(objects, authorizer, *outside);
}

}  // namespace cardea::admission
