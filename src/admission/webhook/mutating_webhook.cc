#include "admission/patched_object.h"
#include "admission/plugins.h"
#include "admission/webhook/webhook_plugin.h"
#include "base/strings.h"
#include "catalog/convert.h"
#include "json/patch.h"
#include "json/patch_error.h"
#include "json/print.h"
#include "schema/wire/decode.h"

namespace cardea::admission {
namespace {

using json::Value;

// All of a patch, or why one of its operations does not apply.
Result<Value> patched(const Value& object, const Value& operations) {
  if (auto whole = json::apply_json_patch(object, operations);
      whole || whole.error().reason == Reason::kRequestEntityTooLarge)
    return whole;
  Value so_far = object;
  for (const Value& op : operations.items()) {
    auto next = json::apply_json_patch(so_far, Value::array({op}));
    if (!next) return fail(internal_error(json::patch_error(so_far, op)));
    so_far = std::move(*next);
  }
  return fail(internal_error("the patch does not apply"));
}

// Of a patched object that claims to be of another kind.
std::optional<Error> kind_change(const Value& before, const Value& after,
                                 const catalog::Resource& as) {
  if (after.is_object() && before["kind"] == after["kind"] &&
      before["apiVersion"] == after["apiVersion"])
    return std::nullopt;
  const std::string_view api = after["apiVersion"].as_string();
  Error error = Error::of(
      Reason::kUnknown,
      cat("converting (", api.substr(api.find('/') + 1), ".", after["kind"].as_string(), ") to (",
          as.group.empty() ? "core" : std::string(split(as.group, '.')[0]), ".", as.kind,
          "): unknown conversion"));
  error.code = 500;
  return error;
}

class MutatingAdmissionWebhook : public WebhookPlugin {
 public:
  static constexpr bool kIsMutating = true;
  MutatingAdmissionWebhook(Objects objects, const authz::CurrentChain& chain,
                           const Outside& outside, std::unique_ptr<WebhookFeed> feed)
      : WebhookPlugin(kIsMutating, objects, chain, outside, std::move(feed)) {}
  std::string_view name() const override { return "MutatingAdmissionWebhook"; }

  Task<Result<void>> mutate(Review& review) const override {
    const std::shared_ptr<const WebhookSet> set = feed_->current();
    WebhookInvocations invocations(review, objects_, chain_.get());
    Reinvocation& again = review.reinvocation;
    again.webhooks.begin(again, review.object);
    for (const WebhookSet::Entry& entry : set->about(review.resource.name)) {
      const Webhook& hook = *entry.hook;
      Result<const catalog::Resource*> as = co_await invocations.concerns(entry.hook);
      if (!as) co_return fail(as.error());
      if (*as == nullptr || !again.webhooks.calls(again, hook.id)) continue;
      if (auto refused = dry_run_refusal(hook, review)) co_return fail(std::move(*refused));
      std::vector<WebhookCaller::Question> question{
          {entry.hook, &invocations.input(**as), review.operation}};
      std::vector<Result<WebhookAnswer>> answers = co_await caller_.ask(question, review, true);
      bool is_changed = false;
      Result<void> taken = take(review, entry, **as, invocations.input(**as).object, answers[0],
                                is_changed);
      annotate(review, entry, "mutation",
               Value::object({{"configuration", hook.configuration},
                              {"webhook", hook.name},
                              {"mutated", is_changed}}));
      if (!taken) co_return taken;
      if (is_changed && (*as)->is_converted_by_webhook) {
        taken = co_await back_in_version(review, **as);
        if (!taken) co_return taken;
      }
      if (is_changed) {
        invocations.object_changed();
        again.webhooks.changed();
        again.is_wanted = true;
      }
      if (hook.is_reinvocable) again.webhooks.called(hook.id);
    }
    again.webhooks.end(review.object);
    co_return Result<void>{};
  }

 private:
  // A webhook that was asked in another version has answered in it.
  static Task<Result<void>> back_in_version(Review& review, const catalog::Resource& as) {
    const bool is_other = &as != &review.resource &&
                          review.object["apiVersion"].as_string() == as.api_version();
    if (!is_other) co_return Result<void>{};
    Value back = review.by_webhook(review.object, review.resource);
    Result<void> converted = co_await review.wait_for_conversions();
    if (!converted) co_return converted;
    back = review.by_webhook(review.object, review.resource);
    review.object = std::move(back);
    co_return Result<void>{};
  }

  static std::string place(const Review& review, const WebhookSet::Entry& entry) {
    return cat("round_", review.reinvocation.is_second ? 1 : 0, "_index_", entry.ordinal);
  }
  static void annotate(const Review& review, const WebhookSet::Entry& entry, std::string_view what,
                       const Value& value, bool needs_request_level = false) {
    review.annotate(cat(what, ".webhook.admission.k8s.io/", place(review, entry)),
                    json::print(value), needs_request_level);
  }

  Result<void> take(Review& review, const WebhookSet::Entry& entry, const catalog::Resource& as,
                    const Value& object, const Result<WebhookAnswer>& answer,
                    bool& is_changed) const {
    const Webhook& hook = *entry.hook;
    if (!answer) {
      if (auto refused = call_failed(review, hook, answer.error(), place(review, entry)))
        return fail(std::move(*refused));
      return {};
    }
    pass_on(review, hook, *answer);
    if (!answer->is_allowed) {
      const Error refused = webhook_refusal(hook, answer->status, review);
      counts_.asked(hook, review.operation, WebhookCounts::Outcome::kDenied, refused.code);
      return fail(refused);
    }
    counts_.asked(hook, review.operation, WebhookCounts::Outcome::kAllowed, 200);
    if (answer->operations.is_null()) return {};
    // From here on an error is the webhook's fault, and its failure policy does not apply.
    if (!object.is_object())
      return fail(internal_failure(
          cat("admission webhook ", quoted(hook.name),
              " attempted to modify the object, which is not supported for this operation")));
    const Result<Value> raw = patched(object, answer->operations);
    if (!raw) return fail(internal_failure(raw.error().message));
    if (auto other = kind_change(object, *raw, as)) return fail(std::move(*other));
    Result<Value> done = completed(*raw, review, as);
    if (!done) return fail(internal_failure(done.error().message));
    annotate(review, entry, "patch",
             Value::object({{"configuration", hook.configuration},
                            {"webhook", hook.name},
                            {"patch", answer->operations},
                            {"patchType", "JSONPatch"}}),
             true);
    is_changed = *done != object;
    if (!is_changed) return {};
    const bool is_own = object["kind"].as_string() == as.kind &&
                        object["apiVersion"].as_string() == as.api_version();
    review.object = &as == &review.resource || !is_own || as.is_converted_by_webhook
                        ? std::move(*done)
                        : schema::normalize(*review.resource.schema,
                                            catalog::convert(*done, as, review.resource));
    return {};
  }
};

}  // namespace

Result<std::unique_ptr<Plugin>> mutating_admission_webhook(Objects objects,
                                                           const authz::CurrentChain& authorizer,
                                                           const Outside* outside) {
  return make_webhook_plugin<MutatingAdmissionWebhook>(objects, authorizer, *outside);
}

}  // namespace cardea::admission
