#include <algorithm>
#include <set>

#include "base/strings.h"
#include "catalog/definition.h"
#include "catalog/kinds/apiextensions/approval.h"

namespace cardea::catalog {

using json::Value;

const Value* find_condition(const Value& definition, std::string_view type) {
  for (const Value& condition : definition["status"]["conditions"].items())
    if (condition["type"].as_string() == type) return &condition;
  return nullptr;
}

void set_condition(Value& definition, std::string_view type, std::string_view status,
                   std::string_view reason, std::string_view message, std::string_view now) {
  Value& conditions = definition.member("status").member("conditions");
  std::size_t at = 0;
  while (at < conditions.size() && conditions[at]["type"].as_string() != type) ++at;
  if (at == conditions.size())
    conditions.push_back(Value::object({{"type", type}, {"lastTransitionTime", now}}));
  Value& condition = conditions.item(at);
  if (condition["status"].as_string() != status || condition["lastTransitionTime"].is_null())
    condition.set("lastTransitionTime", now);
  condition.set("status", status);
  condition.set("reason", reason);
  condition.set("message", message);
}

namespace {

struct Names {
  std::set<std::string, std::less<>> resources, kinds;
};

// The names that other definitions of the group have.
Names names_in_use(const Value& definition, std::span<const Value> others) {
  Names names;
  for (const Value& other : others) {
    if (other["spec"]["group"] != definition["spec"]["group"]) continue;
    if (other["metadata"]["name"] == definition["metadata"]["name"]) continue;
    const Value& accepted = other["status"]["acceptedNames"];
    for (const char* key : {"plural", "singular"})
      names.resources.emplace(accepted[key].as_string());
    for (const Value& name : accepted["shortNames"].items())
      names.resources.emplace(name.as_string());
    for (const char* key : {"kind", "listKind"}) names.kinds.emplace(accepted[key].as_string());
  }
  return names;
}

std::string in_use(std::string_view name) {
  return quoted(name) + " is already in use";
}

// Several errors as Go's aggregate prints them.
std::string aggregate(const std::vector<std::string>& messages) {
  return messages.size() == 1 ? messages[0] : cat("[", join(messages, ", "), "]");
}

struct Verdict {
  Value accepted;
  std::string reason, message;  // of the last conflict; empty when there is none
};

Verdict judge_names(const Value& definition, const Names& used) {
  const Value& wanted = definition["spec"]["names"];
  const Value& before = definition["status"]["acceptedNames"];
  Verdict out{before, "", ""};
  auto single = [&](std::string_view key, const auto& taken, std::string_view reason) {
    std::string_view name = wanted[key].as_string();
    if (name != before[key].as_string() && taken.contains(name)) {
      out.reason = reason;
      out.message = in_use(name);
    } else if (wanted.has(key)) {
      out.accepted.set(key, wanted[key]);
    } else {
      out.accepted.erase(key);
    }
  };
  single("plural", used.resources, "PluralConflict");
  single("singular", used.resources, "SingularConflict");
  std::vector<std::string> conflicts;
  auto ours = before["shortNames"].items();
  for (const Value& name : wanted["shortNames"].items())
    if (std::ranges::find(ours, name) == ours.end() && used.resources.contains(name.as_string()))
      conflicts.push_back(in_use(name.as_string()));
  if (!conflicts.empty()) {
    out.reason = "ShortNamesConflict";
    out.message = aggregate(conflicts);
  } else if (wanted.has("shortNames")) {
    out.accepted.set("shortNames", wanted["shortNames"]);
  } else {
    out.accepted.erase("shortNames");
  }
  single("kind", used.kinds, "KindConflict");
  single("listKind", used.kinds, "ListKindConflict");
  if (wanted.has("categories"))
    out.accepted.set("categories", wanted["categories"]);
  else
    out.accepted.erase("categories");
  return out;
}

bool excludes_somewhere(const Value& schema) {
  if (schema["x-kubernetes-permission-excluded"].as_bool()) return true;
  return std::ranges::any_of(schema.members(),
                             [](const json::Member& m) { return excludes_somewhere(m.value); });
}

void set_approval(Value& definition, std::string_view now) {
  if (!is_protected_group(definition["spec"]["group"].as_string())) return;
  Approval approval = approval_of(definition["metadata"]["annotations"]);
  static constexpr std::string_view kReasons[] = {"InvalidAnnotation", "ApprovedAnnotation",
                                                  "UnapprovedAnnotation", "MissingAnnotation"};
  bool approved = approval.state == Approval::kApproved;
  set_condition(definition, "KubernetesAPIApprovalPolicyConformant", approved ? "True" : "False",
                kReasons[approval.state], approval.reason, now);
}

}  // namespace

Value with_names_accepted(const Value& definition, std::span<const Value> others,
                          std::string_view now) {
  Value out = definition;
  Verdict verdict = judge_names(definition, names_in_use(definition, others));
  out.member("status").set("acceptedNames", verdict.accepted);
  bool accepted = verdict.reason.empty();
  if (accepted)
    set_condition(out, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now);
  else
    set_condition(out, "NamesAccepted", "False", verdict.reason, verdict.message, now);
  const Value* established = find_condition(definition, "Established");
  bool was = established && (*established)["status"].as_string() == "True";
  if (!was && accepted)
    set_condition(out, "Established", "True", "InitialNamesAccepted",
                  "the initial names have been accepted", now);
  else if (!established)
    set_condition(out, "Established", "False", "NotAccepted", "not all names are accepted", now);
  set_approval(out, now);
  return out == definition ? definition : out;
}

Value with_withheld_versions(const Value& definition, bool serves_excluded, std::string_view now) {
  constexpr std::string_view kType = "PermissionsGuarded";
  std::vector<std::string> withheld, served;
  bool is_stored = false;
  for (const Value& version : definition["spec"]["versions"].items()) {
    const bool has = excludes_somewhere(version["schema"]["openAPIV3Schema"]);
    is_stored |= has && version["storage"].as_bool();
    if (!version["served"].as_bool()) continue;
    served.emplace_back(version["name"].as_string());
    if (has) withheld.emplace_back(version["name"].as_string());
  }
  if (is_stored) withheld = served;
  Value out = definition;
  if (!serves_excluded && !withheld.empty()) {
    set_condition(out, kType, "False", "FineGrainedAuthorizationOff",
                  cat("not served: ", join(withheld, ", "),
                      "; excluded permissions guard fields of these versions, or of the stored "
                      "version, and the feature gate FineGrainedAuthorization is off"),
                  now);
  } else if (find_condition(definition, kType)) {
    Value kept = Value::array();
    for (const Value& c : definition["status"]["conditions"].items())
      if (c["type"].as_string() != kType) kept.push_back(c);
    out.member("status").set("conditions", std::move(kept));
  }
  return out == definition ? definition : out;
}

Value marked_for_deletion(const Value& definition, std::string_view now) {
  Value out = definition;
  Value& meta = out.member("metadata");
  if (meta["deletionTimestamp"].is_null()) meta.set("deletionTimestamp", now);
  auto finalizers = meta["finalizers"].items();
  if (std::ranges::find(finalizers, Value(kCleanupFinalizer)) == finalizers.end())
    meta.member("finalizers").push_back(kCleanupFinalizer);
  set_condition(
      out, "Terminating", "True", "InstanceDeletionPending",
      "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon", now);
  return out;
}

}  // namespace cardea::catalog
