#pragma once
#include <map>
#include <memory>

#include "admission/objects.h"
#include "admission/plugin.h"
#include "admission/policy/policy_run.h"
#include "admission/webhook/webhook_set.h"
#include "authz/current_chain.h"
#include "base/metrics.h"

namespace cardea::admission {

// One request and the webhooks that apply to it: which of them are called, and with which
// object. Belongs to one coroutine; borrows everything.
class WebhookInvocations {
 public:
  WebhookInvocations(const Review& review, const Objects& objects,
                     std::shared_ptr<const authz::Chain> chain)
      : review_(review), objects_(objects), chain_(std::move(chain)) {}

  // The resource, in the version, that a webhook is asked about; null when it is not asked. An
  // error refuses the request: it is not known whether the webhook must be asked.
  Task<Result<const catalog::Resource*>> concerns(std::shared_ptr<const Webhook> hook);

  // The object that a webhook receives; kept until the object changes.
  const PolicyInput& input(const catalog::Resource& as);
  void object_changed() { inputs_.clear(); }

 private:
  const Review& review_;
  const Objects& objects_;
  std::shared_ptr<const authz::Chain> chain_;
  std::map<const catalog::Resource*, std::unique_ptr<PolicyInput>> inputs_;
};

// Numbers of webhooks, under Kubernetes' names.
class WebhookCounts {
 public:
  WebhookCounts(MetricRegistry& registry, bool is_mutating)
      : registry_(registry), type_(is_mutating ? "admit" : "validating") {}
  enum class Outcome { kAllowed, kDenied, kFailedOpen, kFailed };
  void asked(const Webhook& hook, Operation operation, Outcome outcome, int code) const;

 private:
  MetricRegistry& registry_;
  const std::string type_;
};

// Why a webhook with side effects cannot be called for a dry run; nullopt when it can.
std::optional<Error> dry_run_refusal(const Webhook& hook, const Review& review);
// The failure of a call, where it refuses the request.
Error calling_failure(const Webhook& hook, const Error& why);
// A webhook's refusal. The whole Status is stored in the review.
Error webhook_refusal(const Webhook& hook, const json::Value& status, const Review& review);

}  // namespace cardea::admission
