#include "authz/rbac/bootstrap_policy.h"

#include <algorithm>

#include "authz/rbac/covers.h"
#include "base/result.h"
#include "base/strings.h"

asm(".section .rodata\n"
    ".global cardea_bootstrap_policy_begin\ncardea_bootstrap_policy_begin:\n.incbin "
    "\"" CARDEA_BOOTSTRAP_POLICY
    "\"\n"
    ".global cardea_bootstrap_policy_end\ncardea_bootstrap_policy_end:\n"
    ".byte 0\n"
    ".text\n");

extern "C" {
extern const char cardea_bootstrap_policy_begin[], cardea_bootstrap_policy_end[];
}

namespace cardea::authz::rbac {
namespace {

using json::Value;

constexpr std::string_view kAutoUpdate = "rbac.authorization.kubernetes.io/autoupdate";
constexpr std::string_view kLabelPrefix = "rbac.authorization.k8s.io/";

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> out;
  for (std::string_view word : split(line, ' '))
    if (!word.empty()) out.push_back(word);
  return out;
}

Value list(std::string_view text) {
  Value out = Value::array();
  for (std::string_view item : split(text, ','))
    out.push_back(item == "\"\"" ? Value("") : Value(item));
  return out;
}

Value object(std::string_view kind, std::string_view namespace_name, std::string_view name) {
  Value meta = Value::object(
      {{"name", name},
       {"labels", Value::object({{"kubernetes.io/bootstrapping", "rbac-defaults"}})},
       {"annotations", Value::object({{kAutoUpdate, "true"}})}});
  if (!namespace_name.empty()) meta.set("namespace", namespace_name);
  return Value::object({{"apiVersion", cat(kGroup, "/v1")}, {"kind", kind}, {"metadata", meta}});
}

Value role_ref(std::string_view kind, std::string_view name) {
  return Value::object({{"apiGroup", kGroup}, {"kind", kind}, {"name", name}});
}

Value subject(std::string_view text) {
  auto colon = text.find(':');
  std::string_view kind = text.substr(0, colon), name = text.substr(colon + 1);
  if (kind != "serviceaccount")
    return Value::object(
        {{"kind", kind == "user" ? "User" : "Group"}, {"apiGroup", kGroup}, {"name", name}});
  auto slash = name.find('/');
  return Value::object({{"kind", "ServiceAccount"},
                        {"namespace", name.substr(0, slash)},
                        {"name", name.substr(slash + 1)}});
}

void add_subjects(Value& binding, std::span<const std::string_view> texts) {
  for (std::string_view text : texts) binding.member("subjects").push_back(subject(text));
}

// A line below a role.
void add_line(Value& role, const std::vector<std::string_view>& w) {
  if (w[0] == "aggregates") {
    Value selector = Value::object(
        {{"matchLabels", Value::object({{cat(kLabelPrefix, w[1]), "true"}})}});
    role.set("aggregationRule",
             Value::object({{"clusterRoleSelectors", Value::array({selector})}}));
    role.set("rules", Value());
    return;
  }
  CARDEA_CHECK(w.size() >= 3);
  Value rule = Value::object({{"verbs", list(w[0])}});
  if (w[1] == "@") {
    rule.set("nonResourceURLs", list(w[2]));
  } else {
    rule.set("apiGroups", list(w[1]));
    rule.set("resources", list(w[2]));
    if (w.size() > 3) rule.set("resourceNames", list(w[3]));
  }
  role.member("rules").push_back(std::move(rule));
}

Value begin_object(const std::vector<std::string_view>& w) {
  std::span<const std::string_view> all(w);
  if (w[0] == "clusterrole") {
    Value role = object("ClusterRole", "", w[1]);
    for (std::string_view label : all.subspan(2))
      role.member("metadata").member("labels").set(cat(kLabelPrefix, label.substr(1)), "true");
    return role;
  }
  if (w[0] == "role") return object("Role", w[1], w[2]);
  bool is_cluster = w[0] == "clusterrolebinding";
  CARDEA_CHECK(is_cluster || w[0] == "rolebinding");
  Value binding = is_cluster ? object("ClusterRoleBinding", "", w[1])
                             : object("RoleBinding", w[1], w[2]);
  binding.set("roleRef", is_cluster ? role_ref("ClusterRole", w[2]) : role_ref("Role", w[3]));
  add_subjects(binding, all.subspan(is_cluster ? 3 : 4));
  return binding;
}

// Members of `expected` that `existing` lacks are added. Whether that changed anything.
bool add_members(Value& existing, const Value& expected) {
  bool changed = false;
  for (const json::Member& m : expected.members())
    if (!existing.has(m.key())) {
      existing.set(m.key(), m.value);
      changed = true;
    }
  return changed;
}

bool merge_metadata(Value& object, const Value& expected) {
  bool changed = false;
  for (std::string_view key : {"labels", "annotations"}) {
    if (expected["metadata"][key].empty()) continue;
    Value merged = object["metadata"][key].is_object() ? object["metadata"][key] : Value::object();
    if (!add_members(merged, expected["metadata"][key])) continue;
    object.member("metadata").set(key, std::move(merged));
    changed = true;
  }
  return changed;
}

// Items of `wanted` that are not in `present`.
std::vector<Value> missing_items(const Value& present, const Value& wanted) {
  std::vector<Value> out;
  for (const Value& item : wanted.items())
    if (std::ranges::find(present.items(), item) == present.items().end()) out.push_back(item);
  return out;
}

bool merge_list(Value& owner, std::string_view key, const Value& expected, bool remove_extra) {
  std::vector<Value> missing = missing_items(owner[key], expected),
                     extra = missing_items(expected, owner[key]);
  if (missing.empty() && (extra.empty() || !remove_extra)) return false;
  if (remove_extra) {
    owner.set(key, expected);
    return true;
  }
  Value merged = owner[key].is_array() ? owner[key] : Value::array();
  for (Value& item : missing) merged.push_back(std::move(item));
  owner.set(key, std::move(merged));
  return true;
}

bool merge_rules(Value& role, const Value& expected, bool remove_extra) {
  std::vector<PolicyRule> have = read_rules(role["rules"]), want = read_rules(expected["rules"]);
  std::vector<PolicyRule> missing = missing_rules(have, want), extra = missing_rules(want, have);
  if (missing.empty() && (extra.empty() || !remove_extra)) return false;
  if (remove_extra) {
    role.set("rules", expected["rules"]);
    return true;
  }
  Value rules = role["rules"].is_array() ? role["rules"] : Value::array();
  for (const PolicyRule& r : missing) rules.push_back(as_json(r));
  role.set("rules", std::move(rules));
  return true;
}

bool merge_aggregation(Value& role, const Value& expected, bool remove_extra) {
  const Value& want = expected["aggregationRule"];
  if (want.is_null()) {
    bool was_aggregated = !role["aggregationRule"].is_null();
    role.erase("aggregationRule");
    return was_aggregated;
  }
  Value rule = role["aggregationRule"].is_object() ? role["aggregationRule"] : Value::object();
  if (!merge_list(rule, "clusterRoleSelectors", want["clusterRoleSelectors"], remove_extra))
    return false;
  role.set("aggregationRule", std::move(rule));
  return true;
}

}  // namespace

std::vector<Value> bootstrap_policy() {
  std::vector<Value> out;
  std::string_view text{cardea_bootstrap_policy_begin, cardea_bootstrap_policy_end};
  for (std::string_view line : split(text, '\n')) {
    if (line.empty() || line.starts_with('#')) continue;
    if (line.starts_with(' '))
      add_line(out.back(), words(line));
    else
      out.push_back(begin_object(words(line)));
  }
  return out;
}

std::vector<PolicyRule> bootstrap_rules(std::string_view cluster_role) {
  for (const Value& o : bootstrap_policy())
    if (o["kind"].as_string() == "ClusterRole" && o["metadata"]["name"].as_string() == cluster_role)
      return read_rules(o["rules"]);
  return {};
}

bool is_protected(const Value& existing) {
  return existing["metadata"]["annotations"][kAutoUpdate].as_string() == "false";
}

std::optional<Reconciled> reconcile(const Value& expected, const Value& existing,
                                    bool remove_extra) {
  bool is_binding = expected.has("roleRef");
  if (is_binding && expected["roleRef"] != existing["roleRef"]) return Reconciled{expected, true};
  Value object = existing;
  bool changed = merge_metadata(object, expected);
  if (is_binding) {
    changed |= merge_list(object, "subjects", expected["subjects"], remove_extra);
  } else {
    if (expected["aggregationRule"].is_null())
      changed |= merge_rules(object, expected, remove_extra);
    changed |= merge_aggregation(object, expected, remove_extra);
  }
  if (!changed) return std::nullopt;
  return Reconciled{std::move(object), false};
}

}  // namespace cardea::authz::rbac
