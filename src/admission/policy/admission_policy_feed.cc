#include "admission/policy/admission_policy_feed.h"

#include "base/strings.h"
#include "json/parse.h"

namespace cardea::admission {

using json::Value;

AdmissionPolicyFold::AdmissionPolicyFold(bool is_mutating)
    : is_mutating_(is_mutating),
      policies_prefix_(
          cat("/registry/", is_mutating ? "mutating" : "validating", "admissionpolicies/")),
      bindings_prefix_(
          cat("/registry/", is_mutating ? "mutating" : "validating", "admissionpolicybindings/")) {}

store::Folded AdmissionPolicyFold::change(std::string_view key, const store::Record*,
                                          const store::Record* after) {
  const bool is_binding = key.starts_with(bindings_prefix_);
  const std::string name(
      key.substr(is_binding ? bindings_prefix_.size() : policies_prefix_.size()));
  const auto object = after ? json::parse(after->value()) : Result<Value>(Value());
  const Value spec = object ? (*object)["spec"] : Value();
  const Value* now = after ? &spec : nullptr;
  const bool is_changed = is_binding ? change_binding(name, now) : change_policy(name, now);
  if (!object) return store::Folded::kUnreadable;
  return is_changed ? store::Folded::kChanged : store::Folded::kSame;
}

bool AdmissionPolicyFold::change_binding(const std::string& name, const Value* spec) {
  if (!spec) return bindings_.erase(name) > 0;
  bindings_[name] = std::make_shared<const PolicyBinding>(PolicyBinding{name, *spec});
  return true;
}

bool AdmissionPolicyFold::change_policy(const std::string& name, const Value* spec) {
  if (!spec) return policies_.erase(name) > 0;
  // A write of the status alone leaves what is compiled as it is.
  auto& kept = policies_[name];
  if (kept && kept->spec == *spec) return false;
  kept = std::make_shared<const Policy>(name, *spec, is_mutating_);
  return true;
}

}  // namespace cardea::admission
