#pragma once
#include <chrono>
#include <memory>
#include <string>

#include "authz/authorizer.h"
#include "authz/condition_meter.h"
#include "authz/webhook/decision_cache.h"
#include "authz/webhook/match_conditions.h"
#include "authz/webhook/review_sender.h"
#include "authz/wire/decision_json.h"
#include "base/clock.h"
#include "base/metrics.h"
#include "base/random.h"

namespace cardea::authz {

struct WebhookAuthorizerOptions {
  std::string name;
  std::string review_version = "v1";
  bool denies_on_failure = false;  // failurePolicy Deny, else NoOpinion
  std::chrono::nanoseconds authorized_ttl{0}, unauthorized_ttl{0};  // 0: not kept
  MatchConditions conditions;
  // The form in which it may answer with conditions, and the client that evaluates them. kNone:
  // it is never asked for conditions.
  wire::Dialect dialect = wire::Dialect::kNone;
  std::shared_ptr<const ReviewSender> conditions_client = nullptr;
  Random* random = nullptr;    // outlives it; null: the system's
  std::string server_id = {};  // of this server, for kViaHeader
};

// Numbers of one webhook. Look them up once; the registry outlives them.
class WebhookMetrics {
 public:
  WebhookMetrics(MetricRegistry& registry, const std::string& name);
  // What came of one try to send a review, and how long it took.
  void tried(const Result<json::Value>& answer, std::chrono::nanoseconds duration);
  void failed_open(const Error& why);
  void excluded() { exclusions_.add(); }
  void condition_failed() { condition_errors_.add(); }
  void conditions_took(std::chrono::nanoseconds duration) { condition_seconds_.observe(duration); }
  ConditionMeter& conditions() {
    return conditions_;
  }  // of its answers, not those that say whether it is asked

 private:
  Counter* evaluations_[3];
  Histogram* durations_[3];
  Counter* fail_open_[3];
  Counter& exclusions_;
  Counter& condition_errors_;
  Histogram& condition_seconds_;
  ConditionMeter conditions_;
};

// Asks another server, by SubjectAccessReview.
//
// Match conditions come first: if one is false, the server is not asked, and there is no
// opinion. Then the cache, then the server. After any failure the failure policy decides, and
// the error is kept: if no other authorizer allows, the client gets it in a 500. Answers from
// memory come at once; other answers arrive on the caller's loop.
//
// With a dialect the server may answer with conditions, if the caller can handle them. They are
// cached like answers, so that one state of its policy decides a request. Conditions in CEL are
// evaluated here as far as possible; the server evaluates the rest, and gets its decision back
// unchanged. Errors in this second call fail closed, whatever the failure policy is.
//
// Shared between threads; the clock must outlive it.
class WebhookAuthorizer : public Authorizer {
 public:
  WebhookAuthorizer(WebhookAuthorizerOptions options, std::shared_ptr<const ReviewSender> client,
                    const Clock& clock, std::shared_ptr<WebhookMetrics> metrics);

  std::string_view name() const override { return options_.name; }
  std::string_view type() const override { return "Webhook"; }
  std::optional<Decision> authorize(const Attributes& attributes) const override;
  Task<Decision> authorize_waiting(Attributes attributes) const override;
  Task<Decision> evaluate(std::shared_ptr<const Conditions> conditions,
                          const ConditionData& data) const override;
  Decision narrowed(std::shared_ptr<const Conditions> conditions,
                    const Attributes& impersonated) const override;
  void add_rules(const User& user, std::string_view namespace_name, Rules& rules) const override;

 private:
  wire::Dialect dialect_for(const Attributes& attributes) const;
  Task<Decision> ask_author(Decision open, const ConditionData& data) const;
  std::string passed_on(std::string_view via) const;
  Decision on_failure(std::string error) const;
  // The answer that is known without a call; fills `spec` and `key` for the call otherwise.
  std::optional<Decision> known(const Attributes& attributes, json::Value& spec,
                                std::string& key) const;

  WebhookAuthorizerOptions options_;
  std::shared_ptr<const ReviewSender> client_;
  std::shared_ptr<WebhookMetrics> metrics_;
  mutable DecisionCache cache_;
};

}  // namespace cardea::authz
