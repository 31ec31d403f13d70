#include "admission/patched_object.h"
#include "admission/plugins.h"
#include "admission/policy/policy_invocations.h"
#include "admission/policy/policy_plugin.h"
#include "admission/policy/policy_run.h"
#include "base/strings.h"
#include "json/patch.h"
#include "json/patch_error.h"
#include "schema/ownership/merge.h"

namespace cardea::admission {
namespace {

using json::Value;

struct Refusal {
  std::string message;
  bool is_misconfiguration = false;
};

class Mutation {
 public:
  Mutation(Review& review, const Objects& objects, authz::SecondaryChecks& authorizer)
      : review_(review), objects_(objects), authorizer_(authorizer) {}

  void collect(const BoundPolicy& bound) {
    for_each_invocation(
        bound, review_, objects_,
        [&](const PolicyBinding* binding, const Error& error) {
          misconfigured(*bound.policy, binding, error);
        },
        [&](PolicyInvocation i) { invocations_.push_back(std::move(i)); });
  }

  std::size_t size() const { return invocations_.size(); }

  Result<void> run() {
    Reinvocation& again = review_.reinvocation;
    const Value before = review_.object;
    again.policies.begin(again, before);
    for (const PolicyInvocation& i : invocations_) {
      const std::string who = cat(i.policy->name, "/", i.binding->name, "/",
                                  i.param["metadata"]["namespace"].as_string(), "/",
                                  i.param["metadata"]["name"].as_string());
      if (!again.policies.calls(again, who)) continue;
      if (auto ok = invoke(i); !ok) return ok;
      if (is_waiting()) return {};
      if (i.policy->spec["reinvocationPolicy"].as_string() == "IfNeeded")
        again.policies.called(who);
    }
    if (review_.object != before) {
      again.policies.changed();
      again.is_wanted = true;
    }
    again.policies.end(review_.object);
    if (refusals_.empty()) return {};
    Error error = forbidden(review_, "");
    error.message = refusals_[0].message;
    error.code = http_status(Reason::kForbidden);
    error.reason = refusals_[0].is_misconfiguration ? Reason::kForbidden : Reason::kInvalid;
    ErrorDetails details = *error.details;
    for (const Refusal& r : refusals_) details.causes.push_back({"", r.message, ""});
    return fail(std::move(error).with(std::move(details)));
  }

 private:
  bool is_waiting() const { return authorizer_.is_waiting() || review_.is_waiting(); }

  void refuse(const Policy& policy, const PolicyBinding* binding, const std::string& why,
              bool misconfiguration) {
    if (!policy.fails_closed()) return;
    const std::string with = binding ? cat(" with binding '", binding->name, "'") : std::string();
    refusals_.push_back(
        {cat("policy '", policy.name, "'", with, " denied request: ", why), misconfiguration});
  }
  void misconfigured(const Policy& policy, const PolicyBinding* binding, const Error& error) {
    refuse(policy, binding,
           cat("failed to configure ", binding ? "binding" : "policy", ": ", error.message), true);
  }

  Result<void> invoke(const PolicyInvocation& i) {
    const auto input = std::make_unique<PolicyInput>(PolicyInput::of(review_, *i.as, objects_));
    const Value* param = i.param.is_null() ? nullptr : &i.param;
    {
      PolicyRun run(*i.policy, *input, review_, param, authorizer_);
      const Result<bool> matches = run.matches();
      if (!matches) {
        refuse(*i.policy, i.binding, matches.error().message, false);
        return {};
      }
      if (!*matches) return {};
    }
    for (const PolicyExpressions::Mutation& m : i.policy->expressions().mutations) {
      if (!review_.object.is_object()) continue;
      // Each mutation sees the object as the one before left it; variables are computed anew.
      input->object = PolicyInput::of(review_, *i.as, objects_).object;
      PolicyRun run(*i.policy, *input, review_, param, authorizer_);
      std::int64_t budget = PolicyRun::kBudget;
      const PolicyRun::Outcome outcome = run.evaluate(m.expression, budget);
      if (is_waiting()) return {};
      if (!outcome.error.empty()) {
        refuse(*i.policy, i.binding, outcome.error, false);
        continue;
      }
      Value made;
      if (!cel::to_json(outcome.value, made)) {
        refuse(*i.policy, i.binding, "the outcome has no form in JSON", false);
        continue;
      }
      Result<Value> patched = m.is_json_patch ? patch(made) : apply(made);
      if (!patched) {
        refuse(*i.policy, i.binding, patched.error().message, false);
        continue;
      }
      if (*patched == review_.object) continue;
      Result<Value> done = completed(*patched, review_, review_.resource);
      if (!done) return fail(internal_failure(done.error().message));
      review_.object = std::move(*done);
    }
    return {};
  }

  Result<Value> patch(const Value& operations) const {
    Value object = review_.object;
    for (const Value& op : operations.items()) {
      auto next = json::apply_json_patch(object, Value::array({op}));
      if (next) {
        object = std::move(*next);
        continue;
      }
      // A test that fails leaves the object as it was.
      if (op["op"].as_string() == "test") return review_.object;
      return fail(bad_request(cat("JSON Patch: ", json::patch_error(object, op))));
    }
    return object;
  }

  Result<Value> apply(Value config) const {
    if (!config.is_object()) config = Value::object();
    config.set("apiVersion", review_.object["apiVersion"]);
    config.set("kind", review_.object["kind"]);
    if (const auto errors = schema::type_errors(config, *review_.resource.schema); !errors.empty())
      return fail(
          bad_request(cat("failed to convert patch object to typed object: ", join(errors, "\n"))));
    return schema::merge(review_.object, config, *review_.resource.schema);
  }

  Review& review_;
  const Objects& objects_;
  authz::SecondaryChecks& authorizer_;
  std::vector<PolicyInvocation> invocations_;
  std::vector<Refusal> refusals_;
};

class MutatingAdmissionPolicy : public PolicyPlugin {
 public:
  static constexpr bool kIsMutating = true;
  using PolicyPlugin::PolicyPlugin;
  std::string_view name() const override { return "MutatingAdmissionPolicy"; }

  bool handles(const Review& r) const override {
    return r.operation != Operation::kDelete && PolicyPlugin::handles(r);
  }

  Task<Result<void>> mutate(Review& review) const override {
    const std::shared_ptr<const PolicySet> policies = feed_->current();
    const std::shared_ptr<const authz::Chain> chain = chain_.get();
    authz::SecondaryChecks authorizer(chain.get(), &review.user);
    const Value before = review.object;
    const Reinvocation reinvocation = review.reinvocation;
    while (true) {
      Mutation mutation(review, objects_, authorizer);
      for (const BoundPolicy* bound : policies->about(review.resource.name))
        mutation.collect(*bound);
      count(mutation.size());
      Result<void> done = mutation.run();
      if (!authorizer.is_waiting() && !review.is_waiting()) co_return done;
      // Begin again with the answer.
      review.object = before;
      review.reinvocation = reinvocation;
      Result<void> converted = co_await review.wait_for_conversions();
      if (!converted) co_return converted;
      if (!authorizer.is_waiting()) continue;
      const bool settled = co_await authorizer.wait();
      if (!settled) co_return fail(internal_error("an authorizer did not answer"));
    }
  }
};

}  // namespace

Result<std::unique_ptr<Plugin>> mutating_admission_policy(Objects objects,
                                                          const authz::CurrentChain& authorizer,
                                                          const Outside* outside) {
  return make_policy_plugin<MutatingAdmissionPolicy>(objects, authorizer, outside);
}

}  // namespace cardea::admission
