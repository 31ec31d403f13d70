#include "authz/webhook/webhook_authorizer.h"

#include "authz/cel_conditions.h"
#include "authz/traced_question.h"
#include "authz/webhook/review_spec.h"
#include "authz/wire/webhook_conditions.h"
#include "base/strings.h"
#include "json/print.h"

namespace cardea::authz {
namespace {

constexpr std::size_t kMostCached = 10'000;  // bytes of attributes a client can choose

bool is_small(const Attributes& a) {
  return a.namespace_name.size() + a.verb.size() + a.api_group.size() + a.api_version.size() +
             a.resource.size() + a.subresource.size() + a.name.size() + a.path.size() <
         kMostCached;
}

// Bytes of conditions. Thousands of answers are kept, so that none may be large.
std::size_t weight(const Decision& d) {
  if (!d.conditions) return 0;
  std::size_t out = 0;
  if (const Conditions::Set* set = d.conditions->set())
    for (const Condition& c : set->conditions)
      out += sizeof c + c.id.size() + c.type.size() + c.text.size() + c.description.size();
  if (const Conditions::Chain* chain = d.conditions->chain())
    for (const NamedDecision& n : *chain)
      out += sizeof n + n.authorizer.size() + weight(n.decision);
  return out;
}
constexpr std::size_t kHeaviestCached = 64 << 10;

// How a call ended, in the words of metrics.
enum class CallOutcome : std::uint8_t { kSuccess, kTimeout, kError };
constexpr std::string_view kOutcomes[] = {"success", "timeout", "error"};

std::size_t outcome_of(const Error& error) {
  return static_cast<std::size_t>(error.reason == Reason::kTimeout ? CallOutcome::kTimeout
                                                                   : CallOutcome::kError);
}
std::size_t outcome_of(const Result<json::Value>& answer) {
  return answer ? static_cast<std::size_t>(CallOutcome::kSuccess) : outcome_of(answer.error());
}

// Counts what fails.
class Metered : public ConditionEvaluator {
 public:
  Metered(ConditionEvaluator& inner, ConditionMeter& meter) : inner_(inner), meter_(meter) {}
  Truth truth(const Condition& c, std::string& error) override {
    Truth out = inner_.truth(c, error);
    if (out == Truth::kError) meter_.failed(c.effect);
    return out;
  }

 private:
  ConditionEvaluator& inner_;
  ConditionMeter& meter_;
};

}  // namespace

WebhookMetrics::WebhookMetrics(MetricRegistry& registry, const std::string& name)
    : exclusions_(registry.counter(
          {"apiserver_authorization_match_condition_exclusions_total",
           "Requests a webhook was not asked about, because a match condition was false."},
          {{"type", "Webhook"}, {"name", name}})),
      condition_errors_(
          registry.counter({"apiserver_authorization_match_condition_evaluation_errors_total",
                            "Requests for which match conditions failed."},
                           {{"type", "Webhook"}, {"name", name}})),
      condition_seconds_(registry.histogram(
          {"apiserver_authorization_match_condition_evaluation_seconds",
           "How long match conditions took."},
          {0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25}, {{"type", "Webhook"}, {"name", name}})),
      conditions_(registry, name) {
  for (std::size_t i = 0; i < std::size(kOutcomes); ++i) {
    MetricRegistry::Labels labels = {{"name", name}, {"result", std::string(kOutcomes[i])}};
    evaluations_[i] = &registry.counter({"apiserver_authorization_webhook_evaluations_total",
                                         "Calls of authorization webhooks, retries included."},
                                        labels);
    durations_[i] = &registry.histogram({"apiserver_authorization_webhook_duration_seconds",
                                         "How long calls of authorization webhooks took."},
                                        {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10},
                                        labels);
    fail_open_[i] = &registry.counter(
        {"apiserver_authorization_webhook_evaluations_fail_open_total",
         "Failures of authorization webhooks that were taken for no opinion."},
        labels);
  }
}

void WebhookMetrics::tried(const Result<json::Value>& answer, std::chrono::nanoseconds duration) {
  evaluations_[outcome_of(answer)]->add();
  durations_[outcome_of(answer)]->observe(duration);
}

void WebhookMetrics::failed_open(const Error& why) {
  fail_open_[outcome_of(why)]->add();
}

WebhookAuthorizer::WebhookAuthorizer(WebhookAuthorizerOptions options,
                                     std::shared_ptr<const ReviewSender> client, const Clock& clock,
                                     std::shared_ptr<WebhookMetrics> metrics)
    : options_(std::move(options)),
      client_(std::move(client)),
      metrics_(std::move(metrics)),
      cache_(clock) {}

std::string WebhookAuthorizer::passed_on(std::string_view via) const {
  return via.empty() ? options_.server_id : cat(via, ", ", options_.server_id);
}

Decision WebhookAuthorizer::on_failure(std::string error) const {
  Decision out = options_.denies_on_failure ? Decision::deny({}) : Decision::no_opinion();
  out.error = std::move(error);
  return out;
}

std::optional<Decision> WebhookAuthorizer::known(const Attributes& attributes, json::Value& spec,
                                                 std::string& key) const {
  spec = review_spec(attributes);
  wire::invite_conditions(spec, dialect_for(attributes));
  MatchConditions::Outcome outcome{.matches = true};
  Stopwatch watch;
  if (!options_.conditions.empty()) outcome = options_.conditions.evaluate(matched_spec(spec));
  std::chrono::nanoseconds took = watch.elapsed();
  std::optional<Decision> answer;
  if (!outcome.error.empty())
    answer = on_failure(outcome.error);
  else if (!outcome.matches)
    answer = Decision::no_opinion();
  else
    answer = cache_.find(key = json::print(spec));
  // A question that has to be asked comes here twice, and counts when it is asked.
  if (!answer || options_.conditions.empty()) return answer;
  if (!outcome.error.empty())
    metrics_->condition_failed();
  else if (!outcome.matches)
    metrics_->excluded();
  metrics_->conditions_took(took);
  return answer;
}

std::optional<Decision> WebhookAuthorizer::authorize(const Attributes& attributes) const {
  json::Value spec;
  std::string key;
  return known(attributes, spec, key);
}

Task<Decision> WebhookAuthorizer::authorize_waiting(Attributes attributes) const {
  const Trace* const trace = TracedQuestion::take(static_cast<const Authorizer*>(this));
  std::string traceparent = trace ? trace->traceparent() : std::string();
  json::Value spec;
  std::string key;
  Stopwatch watch;
  if (auto answer = known(attributes, spec, key)) co_return std::move(*answer);
  if (!options_.conditions.empty()) metrics_->conditions_took(watch.elapsed());
  Result<json::Value> review = co_await client_->post(review_asking(spec, options_.review_version),
                                                      passed_on(attributes.via),
                                                      std::move(traceparent));
  Result<Decision> decision = review ? decision_in(*review, options_.review_version,
                                                   dialect_for(attributes))
                                     : Result<Decision>(fail(review.error()));
  if (!decision) {
    if (decision.error().code == kCircle) {
      Decision denied = Decision::deny({});
      denied.error = cat("webhook `", options_.name, "`: ", decision.error().message);
      co_return denied;
    }
    if (!options_.denies_on_failure) metrics_->failed_open(decision.error());
    co_return on_failure(cat("webhook `", options_.name, "`: ", decision.error().message));
  }
  // What is allowed on conditions is not allowed yet.
  bool allowed = (*review)["status"]["allowed"].as_bool();
  std::chrono::nanoseconds ttl = allowed ? options_.authorized_ttl : options_.unauthorized_ttl;
  if (ttl.count() > 0 && is_small(attributes) && weight(*decision) <= kHeaviestCached)
    cache_.add(std::move(key), *decision, ttl);
  co_return std::move(*decision);
}

// v1beta1 has no words for conditions.
wire::Dialect WebhookAuthorizer::dialect_for(const Attributes& attributes) const {
  return attributes.takes_conditions && options_.review_version == "v1" ? options_.dialect
                                                                        : wire::Dialect::kNone;
}

Task<Decision> WebhookAuthorizer::evaluate(std::shared_ptr<const Conditions> conditions,
                                           const ConditionData& data) const {
  Decision open = Decision::conditional(std::move(conditions));
  SecondaryChecks checks(data.authorizer, data.user);
  Stopwatch watch;
  for (;;) {
    CelConditions in_cel(data, checks);
    Metered evaluator(in_cel, metrics_->conditions());
    Decision outcome = partially_evaluated(open, evaluator);
    if (!checks.is_waiting()) {
      metrics_->conditions().took(true, watch.elapsed());
      if (outcome.kind != Decision::Kind::kConditional) co_return outcome;
      break;
    }
    bool goes_on = co_await checks.wait();
    if (!goes_on) co_return failed(open, "an expression asks the authorizer too much");
  }
  watch = {};
  Decision settled = co_await ask_author(open, data);
  metrics_->conditions().took(false, watch.elapsed());
  if (!settled.error.empty())
    metrics_->conditions().failed(possible_outcomes(open).deny ? Condition::Effect::kDeny
                                                               : Condition::Effect::kAllow);
  co_return settled;
}

Decision WebhookAuthorizer::narrowed(std::shared_ptr<const Conditions> conditions,
                                     const Attributes& impersonated) const {
  CelOnImpersonatedRequest in_cel(impersonated);
  Decision open = Decision::conditional(std::move(conditions));
  Decision left = partially_evaluated(open, in_cel);
  // The author gets back what it said.
  return left.kind == Decision::Kind::kConditional ? open : left;
}

Task<Decision> WebhookAuthorizer::ask_author(Decision open, const ConditionData& data) const {
  if (!options_.conditions_client)
    co_return failed(open, cat("webhook `", options_.name,
                               "`: no endpoint is configured to evaluate its conditions"));
  SystemRandom chance;
  std::string uid = make_uid(options_.random ? *options_.random : chance);
  Result<json::Value> answer = co_await options_.conditions_client->post(
      wire::conditions_review(open, data, uid, options_.dialect), passed_on(data.via));
  if (!answer)
    co_return failed(open, cat("webhook `", options_.name, "`: ", answer.error().message));
  Decision settled = wire::settled_by(*answer, open, uid, options_.dialect);
  if (!settled.error.empty()) settled.error = cat("webhook `", options_.name, "`: ", settled.error);
  co_return settled;
}

void WebhookAuthorizer::add_rules(const User&, std::string_view, Rules& rules) const {
  rules.incomplete = true;
  rules.errors.push_back("webhook authorizer does not support user rule resolution");
}

}  // namespace cardea::authz
