#pragma once
#include <memory>

#include "admission/objects.h"
#include "admission/outside.h"
#include "admission/plugin.h"
#include "admission/policy/admission_policy_feed.h"
#include "admission/policy/policy_match.h"
#include "authz/current_chain.h"
#include "base/metrics.h"

namespace cardea::admission {

// The common part of the plugins that evaluate mutating and validating admission policies.
class PolicyPlugin : public Plugin {
 public:
  PolicyPlugin(Objects objects, const authz::CurrentChain& chain,
               std::unique_ptr<AdmissionPolicyFeed> feed, Counter* evaluations)
      : objects_(objects), chain_(chain), feed_(std::move(feed)), evaluations_(evaluations) {}

  bool handles(const Review& review) const override {
    return !feed_->current()->about(review.resource.name).empty() &&
           !is_admission_configuration(review);
  }

 protected:
  // Adds to the number of policies that were evaluated for requests. Policies about other
  // resources are not evaluated.
  void count(std::uint64_t evaluated) const {
    if (evaluations_) evaluations_->add(evaluated);
  }

  const Objects objects_;
  const authz::CurrentChain& chain_;
  const std::unique_ptr<AdmissionPolicyFeed> feed_;

 private:
  Counter* const evaluations_;  // null: evaluations are not counted
};

// `P` is a PolicyPlugin. `outside` may be null: then evaluations are not counted.
template <typename P>
Result<std::unique_ptr<Plugin>> make_policy_plugin(Objects objects,
                                                   const authz::CurrentChain& chain,
                                                   const Outside* outside) {
  auto feed = AdmissionPolicyFeed::start(objects.store(), P::kIsMutating);
  if (!feed) return fail(feed.error());
  Counter* evaluations = nullptr;
  if (outside)
    evaluations = &outside->metrics.counter(
        {"cardea_admission_policy_evaluations_total",
         "Admission policies evaluated, once for each binding and parameter object."},
        {{"type", P::kIsMutating ? "mutating" : "validating"}});
  return std::make_unique<P>(objects, chain, std::move(*feed), evaluations);
}

}  // namespace cardea::admission
