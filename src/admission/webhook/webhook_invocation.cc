#include "admission/webhook/webhook_invocation.h"

#include "admission/patched_object.h"
#include "admission/policy/policy_match.h"
#include "admission/webhook/webhook_review.h"
#include "base/strings.h"

namespace cardea::admission {
namespace {

using json::Value;

Reason reason_named(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(Reason::kTimeout); ++i)
    if (const auto reason = static_cast<Reason>(i); reason_name(reason) == name) return reason;
  return Reason::kUnknown;
}

// Unlike other refusals, it names only what has a name.
Error condition_failure(const Review& r, const std::string& why) {
  const std::string named = r.name.empty() ? std::string() : cat(" ", quoted(r.name));
  return Error::of(Reason::kForbidden,
                   cat(r.resource.qualified_name(), named, " is forbidden: ", why))
      .with({.name = std::string(r.name), .group = r.resource.group, .kind = r.resource.name});
}

}  // namespace

const PolicyInput& WebhookInvocations::input(const catalog::Resource& as) {
  auto& kept = inputs_[&as];
  if (!kept) kept = std::make_unique<PolicyInput>(PolicyInput::of(review_, as, objects_));
  return *kept;
}

Task<Result<const catalog::Resource*>> WebhookInvocations::concerns(
    std::shared_ptr<const Webhook> hook) {
  const auto matched = match_request(hook->match, review_, objects_);
  if (!matched) co_return fail(matched.error());
  if (!*matched) co_return nullptr;
  const catalog::Resource* as = (*matched)->resource;
  if (as != &review_.resource && as->is_converted_by_webhook) {
    (void)input(*as);
    if (review_.is_waiting()) {
      inputs_.erase(as);
      Result<void> converted = co_await review_.wait_for_conversions();
      if (!converted) co_return fail(converted.error());
    }
  }
  if (hook->spec["matchConditions"].empty()) co_return as;
  authz::SecondaryChecks authorizer(chain_.get(), &review_.user);
  while (true) {
    Result<bool> holds = PolicyRun(hook->conditions, input(*as), review_, nullptr, authorizer)
                             .matches();
    if (!authorizer.is_waiting()) {
      if (!holds) co_return fail(condition_failure(review_, holds.error().message));
      co_return *holds ? as : nullptr;
    }
    const bool settled = co_await authorizer.wait();
    if (!settled) co_return fail(internal_error("an authorizer did not answer"));
  }
}

void WebhookCounts::asked(const Webhook& hook, Operation operation, Outcome outcome,
                          int code) const {
  const bool rejected = outcome == Outcome::kDenied || outcome == Outcome::kFailed;
  const std::string name = operation_name(operation).data();
  registry_
      .counter({"apiserver_admission_webhook_request_total", "Reviews sent to webhooks."},
               {{"name", hook.name},
                {"type", type_},
                {"operation", name},
                {"code", std::to_string(code)},
                {"rejected", rejected ? "true" : "false"}})
      .add();
  if (rejected)
    registry_
        .counter(
            {"apiserver_admission_webhook_rejection_count",
             "Requests refused because of a webhook."},
            {{"name", hook.name},
             {"type", type_},
             {"operation", name},
             {"error_type", outcome == Outcome::kDenied ? "no_error" : "calling_webhook_error"},
             {"rejection_code", outcome == Outcome::kDenied ? std::to_string(code) : "0"}})
        .add();
  if (outcome == Outcome::kFailedOpen)
    registry_
        .counter({"apiserver_admission_webhook_fail_open_count",
                  "Requests that passed although a webhook could not be asked."},
                 {{"name", hook.name}, {"type", type_}})
        .add();
}

std::optional<Error> dry_run_refusal(const Webhook& hook, const Review& review) {
  if (!review.dry_run || hook.is_safe_on_dry_run) return std::nullopt;
  return bad_request(cat("admission webhook ", quoted(hook.name), " does not support dry run"));
}

Error calling_failure(const Webhook& hook, const Error& why) {
  return internal_failure(cat("failed calling webhook ", quoted(hook.name), ": ", why.message));
}

Error webhook_refusal(const Webhook& hook, const Value& status, const Review& review) {
  const Value document = refusal_status(hook.name, status);
  Error error = Error::of(reason_named(document["reason"].as_string()),
                          std::string(document["message"].as_string()));
  error.code = static_cast<int>(document["code"].as_int());
  if (review.refusal) *review.refusal = document;
  return error;
}

}  // namespace cardea::admission
