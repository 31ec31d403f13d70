#include "admission/plugins.h"
#include "admission/policy/policy_invocations.h"
#include "admission/policy/policy_plugin.h"
#include "admission/policy/policy_run.h"
#include "base/strings.h"
#include "json/print.h"

namespace cardea::admission {
namespace {

using json::Value;

constexpr std::size_t kLongestMessage = 5 * 1024, kLongestAnnotation = 10 * 1024;
constexpr std::string_view kFailureKey = "validation.policy.admission.k8s.io/validation_failure";

struct Denial {
  const Policy* policy = nullptr;
  const PolicyBinding* binding = nullptr;  // null when the policy itself is at fault
  std::string message;
  std::string reason;
};

// What all policies say to one request. Made again from nothing when an authorizer had to be waited
// for.
struct Findings {
  std::vector<Denial> denials;
  std::vector<std::string> warnings;
  std::vector<std::pair<std::string, std::string>> annotations;
};

class Validation {
 public:
  Validation(const Review& review, const Objects& objects, authz::SecondaryChecks& authorizer)
      : review_(review), objects_(objects), authorizer_(authorizer) {}

  void ask(const BoundPolicy& bound) {
    const Policy& policy = *bound.policy;
    for_each_invocation(
        bound, review_, objects_,
        [&](const PolicyBinding* binding, const Error& error) {
          misconfigured(policy, binding, error);
        },
        [&](const PolicyInvocation& i) { evaluate(policy, *i.binding, *i.as, i.param); });
  }

  Findings findings;
  std::uint64_t evaluations = 0;

 private:
  const PolicyInput& input(const catalog::Resource& as) {
    auto& kept = inputs_[&as];
    if (!kept) kept = std::make_unique<PolicyInput>(PolicyInput::of(review_, as, objects_));
    return *kept;
  }

  void misconfigured(const Policy& policy, const PolicyBinding* binding, const Error& error) {
    if (!policy.fails_closed()) return;
    findings.denials.push_back(
        {&policy, binding,
         cat("failed to configure ", binding ? "binding" : "policy", ": ", error.message), ""});
  }

  void evaluate(const Policy& policy, const PolicyBinding& binding, const catalog::Resource& as,
                const Value& param) {
    ++evaluations;
    PolicyRun run(policy, input(as), review_, param.is_null() ? nullptr : &param, authorizer_);
    const Result<bool> matches = run.matches();
    if (!matches) return failed(policy, binding, 0, matches.error().message);
    if (!*matches) return;
    const PolicyExpressions& expressions = policy.expressions();
    std::int64_t budget = PolicyRun::kBudget;
    for (std::size_t i = 0; i < expressions.validations.size(); ++i)
      if (!validation(run, policy, binding, i, budget)) return;
    annotations(run, policy, binding);
  }

  // False when the budget is gone: nothing more is evaluated.
  bool validation(PolicyRun& run, const Policy& policy, const PolicyBinding& binding,
                  std::size_t index, std::int64_t& budget) {
    const PolicyExpressions::Validation& v = policy.expressions().validations[index];
    const PolicyRun::Outcome outcome = run.evaluate(v.expression, budget);
    if (!outcome.error.empty()) {
      failed(policy, binding, index, outcome.error);
      return !outcome.out_of_budget;
    }
    if (outcome.value.is_true()) return true;
    std::string message;
    if (!v.message.text.empty()) {
      const PolicyRun::Outcome said = run.evaluate(v.message, budget);
      if (said.out_of_budget) {
        failed(policy, binding, index, cat("failed messageExpression: ", said.error));
        return false;
      }
      if (said.error.empty() && said.value.is_string()) message = trim(said.value.string());
      if (message.size() > kLongestMessage || message.find('\n') != message.npos) message.clear();
    }
    if (message.empty()) message = trim(v.source["message"].as_string());
    if (message.empty()) message = cat("failed expression: ", trim(v.expression.text));
    const std::string_view reason = v.source["reason"].as_string();
    deny(policy, binding, index, message, std::string(reason.empty() ? "Invalid" : reason));
    return true;
  }

  // Evaluation went wrong: the failure policy decides.
  void failed(const Policy& policy, const PolicyBinding& binding, std::size_t index,
              const std::string& message) {
    if (policy.fails_closed()) deny(policy, binding, index, message, "");
  }

  void deny(const Policy& policy, const PolicyBinding& binding, std::size_t index,
            const std::string& message, const std::string& reason) {
    for (const Value& action : binding.spec["validationActions"].items()) {
      if (action.as_string() == "Deny")
        findings.denials.push_back({&policy, &binding, message, reason});
      if (action.as_string() == "Warn")
        findings.warnings.push_back(cat("Validation failed for ValidatingAdmissionPolicy '",
                                        policy.name, "' with binding '", binding.name,
                                        "': ", message));
      if (action.as_string() == "Audit")
        findings.annotations.emplace_back(
            kFailureKey, json::print(Value::array({Value::object(
                             {{"message", message},
                              {"policy", policy.name},
                              {"binding", binding.name},
                              {"expressionIndex", static_cast<std::int64_t>(index)},
                              {"validationActions", binding.spec["validationActions"]}})})));
    }
  }

  void annotations(PolicyRun& run, const Policy& policy, const PolicyBinding& binding) {
    std::int64_t budget = PolicyRun::kBudget;
    for (const PolicyExpressions::Annotation& a : policy.expressions().annotations) {
      const PolicyRun::Outcome outcome = run.evaluate(a.value, budget);
      if (!outcome.error.empty()) {
        // An annotation that cannot be made denies, whatever the binding's actions are.
        if (policy.fails_closed())
          findings.denials.push_back({&policy, &binding, outcome.error, ""});
        if (outcome.out_of_budget) return;
        continue;
      }
      if (!outcome.value.is_string()) continue;
      const std::string_view text = trim(outcome.value.string());
      if (!text.empty())
        findings.annotations.emplace_back(cat(policy.name, "/", a.key),
                                          std::string(text.substr(0, kLongestAnnotation)));
    }
  }

  const Review& review_;
  const Objects& objects_;
  authz::SecondaryChecks& authorizer_;
  std::map<const catalog::Resource*, std::unique_ptr<PolicyInput>> inputs_;
};

Error denied(const Review& review, const Denial& first) {
  const std::string with = first.binding ? cat(" with binding '", first.binding->name, "'")
                                         : std::string();
  const std::string message = cat("ValidatingAdmissionPolicy '", first.policy->name, "'", with,
                                  " denied request: ", first.message);
  Error error = forbidden(review, message);
  error.reason = first.reason == "Forbidden"               ? Reason::kForbidden
                 : first.reason == "RequestEntityTooLarge" ? Reason::kRequestEntityTooLarge
                 : first.reason == "Unauthorized"          ? Reason::kUnauthorized
                                                           : Reason::kInvalid;
  ErrorDetails details = *error.details;
  details.causes.push_back({"", message, ""});
  return std::move(error).with(std::move(details));
}

class ValidatingAdmissionPolicy : public PolicyPlugin {
 public:
  static constexpr bool kIsMutating = false;
  using PolicyPlugin::PolicyPlugin;
  std::string_view name() const override { return "ValidatingAdmissionPolicy"; }

  Task<Result<void>> validate(const Review& review) const override {
    const std::shared_ptr<const PolicySet> policies = feed_->current();
    const std::shared_ptr<const authz::Chain> chain = chain_.get();
    authz::SecondaryChecks authorizer(chain.get(), &review.user);
    Findings findings;
    while (true) {
      Validation validation(review, objects_, authorizer);
      for (const BoundPolicy* bound : policies->about(review.resource.name)) validation.ask(*bound);
      count(validation.evaluations);
      if (!authorizer.is_waiting() && !review.is_waiting()) {
        findings = std::move(validation.findings);
        break;
      }
      Result<void> converted = co_await review.wait_for_conversions();
      if (!converted) co_return converted;
      if (!authorizer.is_waiting()) continue;
      const bool settled = co_await authorizer.wait();
      if (!settled) co_return fail(internal_error("an authorizer did not answer"));
    }
    for (std::string& w : findings.warnings) review.warnings.push_back(std::move(w));
    for (const auto& [key, value] : findings.annotations) review.annotate(key, value);
    if (!findings.denials.empty()) co_return fail(denied(review, findings.denials[0]));
    co_return Result<void>{};
  }
};

}  // namespace

Result<std::unique_ptr<Plugin>> validating_admission_policy(Objects objects,
                                                            const authz::CurrentChain& authorizer,
                                                            const Outside* outside) {
  return make_policy_plugin<ValidatingAdmissionPolicy>(objects, authorizer, outside);
}

}  // namespace cardea::admission
