#include "admission/policy/admission_policy_feed.h"

#include "admission/unreadable.h"
#include "base/strings.h"
#include "json/parse.h"

namespace cardea::admission {

using json::Value;

namespace {

// No policy can have this name. Bindings that nobody can read are taken as bindings of it.
constexpr std::string_view kUnreadable = "(unreadable)";

// In place of a policy that nobody can read: where it is bound, it refuses. A mutation that cannot
// be compiled fails.
Value failing_policy(bool is_mutating) {
  Value out = Value::object(
      {{"failurePolicy", "Fail"},
       {"reinvocationPolicy", "Never"},
       {"matchConstraints", Value::object({{"resourceRules", rules_for_everything()}})},
       {"matchConditions", unless_administrator()}});
  if (is_mutating)
    out.set("mutations", Value::array({Value::object(
                             {{"patchType", "JSONPatch"},
                              {"jsonPatch", Value::object({{"expression", "unreadable"}})}})}));
  else
    out.set(
        "validations",
        Value::array({Value::object({{"expression", "false"}, {"message", "it cannot be read"}})}));
  return out;
}

Value failing_binding() {
  return Value::object(
      {{"policyName", kUnreadable}, {"validationActions", Value::array({"Deny"})}});
}

}  // namespace

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
  const bool is_readable = object && (!after || (*object)["spec"].is_object());
  // What it said when it could be read still holds.
  if (!is_readable && (is_binding ? bindings_.contains(name) : policies_.contains(name)))
    return store::Folded::kUnreadable;
  if (!is_readable && is_binding) {
    const Value failing = failing_policy(is_mutating_);
    change_policy(std::string(kUnreadable), &failing);
  }
  const Value spec = is_readable  ? (*object)["spec"]
                     : is_binding ? failing_binding()
                                  : failing_policy(is_mutating_);
  const Value* now = after ? &spec : nullptr;
  const bool is_changed = is_binding ? change_binding(name, now) : change_policy(name, now);
  if (!is_readable) return store::Folded::kUnreadable;
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
