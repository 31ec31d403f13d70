#include "admission/plugins.h"

namespace cardea::admission {
namespace {

// Settles what authorization left open, now that the object is what it is going to be. Without this
// plugin a conditional decision never becomes an Allow.
class ConditionsEnforcer : public Plugin {
 public:
  std::string_view name() const override { return "AuthorizationConditionsEnforcer"; }
  bool handles(const Review& review) const override { return review.authorization != nullptr; }
  Task<Result<void>> validate(const Review& review) const override {
    return review.authorization->settle(review);
  }
};

}  // namespace

std::unique_ptr<Plugin> conditions_enforcer(Objects) {
  return std::make_unique<ConditionsEnforcer>();
}

}  // namespace cardea::admission
