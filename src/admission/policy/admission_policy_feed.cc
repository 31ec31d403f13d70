#include "admission/policy/admission_policy_feed.h"

#include "base/strings.h"
#include "json/parse.h"

namespace cardea::admission {

using json::Value;

namespace {

// In place of a policy that nobody can read: where it is bound, it refuses, but for
// administrators, who can mend it.
Value failing_policy() {
  const auto all = [] { return Value::array({"*"}); };
  Value rule = Value::object({{"operations", all()},
                              {"apiGroups", all()},
                              {"apiVersions", all()},
                              {"resources", Value::array({"*/*"})},
                              {"scope", "*"}});
  Value clients = Value::object(
      {{"name", "clients"}, {"expression", "!('system:masters' in request.userInfo.groups)"}});
  Value no = Value::object({{"expression", "false"}, {"message", "the policy cannot be read"}});
  return Value::object(
      {{"failurePolicy", "Fail"},
       {"matchConstraints", Value::object({{"resourceRules", Value::array({std::move(rule)})}})},
       {"matchConditions", Value::array({std::move(clients)})},
       {"validations", Value::array({std::move(no)})}});
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
  const Value spec = is_readable ? (*object)["spec"] : is_binding ? Value() : failing_policy();
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
