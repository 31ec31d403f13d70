#include <map>
#include <set>

#include "catalog/kinds/check.h"
#include "catalog/kinds/core/pod_parts.h"
#include "catalog/kinds/label_selector.h"

// The rules that choose a node for a pod: affinity, tolerations, spreading, gates.
namespace cardea::catalog::pod {
namespace {

using std::string_view;

// The server adds keys from matchLabelKeys to the selector, so the selector must not have them
// already.
void validate_label_keys(const Value& keys, const Value& selector, const Path& path,
                         FieldErrors& out) {
  if (keys.empty()) return;
  if (selector.is_null())
    return out.push_back(
        json::forbidden(path, "must not be specified when labelSelector is not set"));
  for (std::size_t i = 0; i < keys.size(); ++i)
    complain(path.index(i), keys[i].as_string(), qualified_name(keys[i].as_string()), out);
}

void validate_match_label_keys(const Value& holder, const Path& path, FieldErrors& out) {
  const Value &match = holder["matchLabelKeys"], &mismatch = holder["mismatchLabelKeys"],
              &selector = holder["labelSelector"];
  validate_label_keys(match, selector, path / "matchLabelKeys", out);
  validate_label_keys(mismatch, selector, path / "mismatchLabelKeys", out);
  std::map<string_view, std::size_t> index_of;
  for (std::size_t i = 0; i < match.size(); ++i) index_of[match[i].as_string()] = i;
  std::set<string_view> selected;
  for (const json::Member& m : selector["matchLabels"].members()) selected.insert(m.key());
  for (const Value& expression : selector["matchExpressions"].items()) {
    string_view key = text(expression, "key");
    auto at = index_of.find(key);
    if (at != index_of.end() && selected.contains(key))
      out.push_back(json::invalid(path.index(at->second), key,
                                  "exists in both matchLabelKeys and labelSelector"));
    selected.insert(key);
  }
  for (std::size_t i = 0; i < match.size(); ++i)
    if (std::ranges::find(mismatch.items(), match[i]) != mismatch.items().end())
      out.push_back(json::invalid((path / "matchLabelKeys").index(i), match[i],
                                  "exists in both matchLabelKeys and mismatchLabelKeys"));
}

void validate_pod_term(const Value& term, const Path& path, FieldErrors& out) {
  validate_label_selector(term["labelSelector"], path / "labelSelector", out);
  validate_label_selector(term["namespaceSelector"], path / "namespaceSelector", out);
  for (const Value& ns : term["namespaces"].items())
    complain(path / "namespace", ns.as_string(), dns1123_label(ns.as_string()), out);
  validate_match_label_keys(term, path, out);
  if (text(term, "topologyKey").empty())
    out.push_back(json::required(path / "topologyKey", "can not be empty"));
  complain(path / "topologyKey", text(term, "topologyKey"),
           qualified_name(text(term, "topologyKey")), out);
}

void validate_weight(const Value& term, const Path& path, FieldErrors& out) {
  std::int64_t weight = term["weight"].as_int();
  if (weight <= 0 || weight > 100)
    out.push_back(json::invalid(path / "weight", weight, "must be in the range 1-100"));
}

void validate_pod_affinity(const Value& affinity, const Path& path, FieldErrors& out) {
  each(affinity, "requiredDuringSchedulingIgnoredDuringExecution", path,
       [&](const Value& term, const Path& at) { validate_pod_term(term, at, out); });
  each(affinity, "preferredDuringSchedulingIgnoredDuringExecution", path,
       [&](const Value& term, const Path& at) {
         validate_weight(term, at, out);
         validate_pod_term(term["podAffinityTerm"], at / "podAffinityTerm", out);
       });
}

void validate_node_requirement(const Value& requirement, bool any_value, const Path& path,
                               FieldErrors& out) {
  string_view op = text(requirement, "operator");
  const Value& values = requirement["values"];
  if (op == "In" || op == "NotIn") {
    if (values.empty())
      out.push_back(
          json::required(path / "values", "must be specified when `operator` is 'In' or 'NotIn'"));
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (!values.empty())
      out.push_back(json::forbidden(
          path / "values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
  } else if (op == "Gt" || op == "Lt") {
    if (values.size() != 1)
      out.push_back(json::required(
          path / "values", "must be specified single value when `operator` is 'Lt' or 'Gt'"));
  } else {
    out.push_back(json::invalid(path / "operator", op, "not a valid selector operator"));
  }
  complain(path / "key", text(requirement, "key"), qualified_name(text(requirement, "key")), out);
  if (any_value) return;
  for (std::size_t i = 0; i < values.size(); ++i)
    complain((path / "values").index(i), values[i].as_string(), label_value(values[i].as_string()),
             out);
}

void validate_field_requirement(const Value& requirement, const Path& path, FieldErrors& out) {
  string_view op = text(requirement, "operator"), key = text(requirement, "key");
  const Value& values = requirement["values"];
  if (op != "In" && op != "NotIn")
    out.push_back(json::invalid(path / "operator", op, "not a valid selector operator"));
  else if (values.size() != 1)
    out.push_back(json::required(
        path / "values",
        "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"));
  if (key != "metadata.name")
    out.push_back(json::invalid(path / "key", key, "not a valid field selector key"));
  else
    for (std::size_t i = 0; i < values.size(); ++i)
      complain((path / "values").index(i), values[i].as_string(),
               dns1123_subdomain(values[i].as_string()), out);
}

void validate_node_affinity(const Value& affinity, const Path& path, FieldErrors& out) {
  if (present(affinity, "requiredDuringSchedulingIgnoredDuringExecution"))
    validate_node_selector(affinity["requiredDuringSchedulingIgnoredDuringExecution"],
                           path / "requiredDuringSchedulingIgnoredDuringExecution", out);
  each(affinity, "preferredDuringSchedulingIgnoredDuringExecution", path,
       [&](const Value& term, const Path& at) {
         validate_weight(term, at, out);
         validate_node_selector_term(term["preference"], true, at / "preference", out);
       });
}

void validate_min_domains(const Value& constraint, const Path& path, FieldErrors& out) {
  const Value& domains = constraint["minDomains"];
  if (domains.is_null()) return;
  if (domains.as_int() <= 0)
    out.push_back(json::invalid(path, domains, "must be greater than zero"));
  string_view action = text(constraint, "whenUnsatisfiable");
  if (action != "DoNotSchedule")
    out.push_back(json::invalid(
        path, domains,
        cat("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ", action)));
}

}  // namespace

void validate_affinity(const Value& spec, const Path& spec_path, FieldErrors& out) {
  const Value& affinity = spec["affinity"];
  Path path = spec_path / "affinity";
  validate_node_affinity(affinity["nodeAffinity"], path / "nodeAffinity", out);
  validate_pod_affinity(affinity["podAffinity"], path / "podAffinity", out);
  validate_pod_affinity(affinity["podAntiAffinity"], path / "podAntiAffinity", out);
}

void validate_tolerations(const Value& tolerations, const Path& path, FieldErrors& out) {
  for (std::size_t i = 0; i < tolerations.size(); ++i) {
    const Value& toleration = tolerations[i];
    Path at = path.index(i);
    string_view key = text(toleration, "key"), op = text(toleration, "operator"),
                value = text(toleration, "value"), effect = text(toleration, "effect");
    if (!key.empty()) complain(at / "key", key, qualified_name(key), out);
    if (key.empty() && op != "Exists")
      out.push_back(json::invalid(at / "operator", op,
                                  "operator must be Exists when `key` is empty, which means "
                                  "\"match all values and all keys\""));
    if (present(toleration, "tolerationSeconds") && effect != "NoExecute")
      out.push_back(json::invalid(at / "effect", effect,
                                  "effect must be 'NoExecute' when `tolerationSeconds` is set"));
    if (op.empty() || op == "Equal") {
      if (auto complaints = label_value(value); !complaints.empty())
        out.push_back(json::invalid(at / "operator", value, join(complaints, ";")));
    } else if (op == "Exists") {
      if (!value.empty())
        out.push_back(json::invalid(at / "operator", value,
                                    "value must be empty when `operator` is 'Exists'"));
    } else if (op == "Lt" || op == "Gt") {
      out.push_back(json::not_supported(at / "operator", op, {"Equal", "Exists", "Lt", "Gt"}));
    } else {
      out.push_back(json::not_supported(at / "operator", op, {"Equal", "Exists"}));
    }
    if (!effect.empty()) validate_taint_effect(effect, true, at / "effect", out);
  }
}

void validate_topology_spread(const Value& spec, const Path& spec_path, FieldErrors& out) {
  auto constraints = spec["topologySpreadConstraints"].items();
  std::map<std::pair<string_view, string_view>, std::size_t> last;  // of those with key and action
  for (std::size_t i = 0; i < constraints.size(); ++i)
    last[{text(constraints[i], "topologyKey"), text(constraints[i], "whenUnsatisfiable")}] = i;
  for (std::size_t i = 0; i < constraints.size(); ++i) {
    const Value& constraint = constraints[i];
    Path at = (spec_path / "topologySpreadConstraints").index(i);
    string_view key = text(constraint, "topologyKey"),
                action = text(constraint, "whenUnsatisfiable");
    if (constraint["maxSkew"].as_int() <= 0)
      out.push_back(json::invalid(at / "maxSkew", constraint["maxSkew"].as_int(),
                                  "must be greater than zero"));
    if (key.empty()) out.push_back(json::required(at / "topologyKey", "can not be empty"));
    check_one_of(at / "whenUnsatisfiable", action, {"DoNotSchedule", "ScheduleAnyway"}, out);
    if (last[{key, action}] > i)
      out.push_back(json::duplicate(at / "{topologyKey, whenUnsatisfiable}",
                                    cat("{", key, ", ", action, "}")));
    validate_min_domains(constraint, at / "minDomains", out);
    for (const char* policy : {"nodeAffinityPolicy", "nodeTaintsPolicy"})
      if (present(constraint, policy))
        check_one_of(at / policy, text(constraint, policy), {"Honor", "Ignore"}, out);
    validate_match_label_keys(constraint, at, out);
    validate_label_selector(constraint["labelSelector"], at / "labelSelector", out);
  }
}

void validate_gates(const Value& spec, const Path& spec_path, FieldErrors& out) {
  each(spec, "readinessGates", spec_path, [&](const Value& gate, const Path& at) {
    complain(at / "conditionType", text(gate, "conditionType"),
             qualified_name(text(gate, "conditionType")), out);
  });
  std::set<string_view> seen;
  each(spec, "schedulingGates", spec_path, [&](const Value& gate, const Path& at) {
    string_view name = text(gate, "name");
    complain(at, name, qualified_name(name), out);
    if (!seen.insert(name).second) out.push_back(json::duplicate(at, name));
  });
}

}  // namespace cardea::catalog::pod

namespace cardea::catalog {

void validate_node_selector_term(const json::Value& term, bool any_label_value, const Path& path,
                                 json::FieldErrors& out) {
  each(term, "matchExpressions", path, [&](const json::Value& r, const Path& at) {
    pod::validate_node_requirement(r, any_label_value, at, out);
  });
  each(term, "matchFields", path,
       [&](const json::Value& r, const Path& at) { pod::validate_field_requirement(r, at, out); });
}

void validate_node_selector(const json::Value& selector, const Path& path, json::FieldErrors& out) {
  if (selector["nodeSelectorTerms"].empty())
    return out.push_back(
        json::required(path / "nodeSelectorTerms", "must have at least one node selector term"));
  each(selector, "nodeSelectorTerms", path, [&](const json::Value& term, const Path& at) {
    validate_node_selector_term(term, false, at, out);
  });
}

void validate_taint_effect(std::string_view effect, bool allow_empty, const Path& path,
                           json::FieldErrors& out) {
  if (effect.empty() && !allow_empty) return out.push_back(json::required(path));
  check_one_of(path, effect, {"NoSchedule", "PreferNoSchedule", "NoExecute"}, out);
}

}  // namespace cardea::catalog
