#include "catalog/kinds/core/pod_update.h"

#include <set>

#include "catalog/kinds/check.h"
#include "catalog/kinds/core/pod_parts.h"
#include "catalog/kinds/go_diff.h"
#include "catalog/kinds/go_value.h"
#include "json/print.h"

namespace cardea::catalog {
namespace {

using std::string_view;

constexpr const char* kUpdatable =
    "pod updates may not change fields other than "
    "`spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously "
    "negative)\n";
constexpr string_view kMirror = "kubernetes.io/config.mirror";
constexpr string_view kAppArmorPrefix = "container.apparmor.security.beta.kubernetes.io/";

// Whether the two lists can be compared at all.
bool validate_container_list(const Value& spec, const Value& old, const char* key,
                             FieldErrors& out) {
  Path path = Path("spec") / key;
  if (spec[key].size() != old[key].size()) {
    out.push_back(json::forbidden(path, "pod updates may not add or remove containers"));
    return false;
  }
  each(spec, key, "spec", [&](const Value& container, const Path& at) {
    string_view image = text(container, "image");
    if (image.empty()) out.push_back(json::required(at / "image"));
    if (trim(image).size() != image.size())
      out.push_back(
          json::invalid(at / "image", image, "must not have leading or trailing whitespace"));
  });
  return true;
}

// False if no further error should be reported.
bool validate_deadline(const Value& spec, const Value& old, FieldErrors& out) {
  const Value &now = spec["activeDeadlineSeconds"], &before = old["activeDeadlineSeconds"];
  Path path = "spec.activeDeadlineSeconds";
  if (now.is_null()) {
    if (!before.is_null())
      out.push_back(
          json::invalid(path, now, "must not update from a positive integer to nil value"));
    return true;
  }
  if (now.as_int() < 0 || now.as_int() > INT32_MAX) {
    out.push_back(json::invalid(path, now, inclusive_range_error(0, INT32_MAX)));
    return false;
  }
  if (!before.is_null() && before.as_int() < now.as_int()) {
    out.push_back(json::invalid(path, now, "must be less than or equal to previous value"));
    return false;
  }
  return true;
}

void validate_only_added_tolerations(const Value& now, const Value& before, FieldErrors& out) {
  auto without_seconds = [](Value toleration) {
    toleration.erase("tolerationSeconds");
    return toleration;
  };
  for (const Value& old : before.items()) {
    Value wanted = without_seconds(old);
    if (std::ranges::any_of(now.items(), [&](const Value& t) {
          return semantically_equal(without_seconds(t), wanted);
        }))
      continue;
    return out.push_back(
        json::forbidden("spec.tolerations",
                        "existing toleration can not be modified except its tolerationSeconds"));
  }
  pod::validate_tolerations(now, "spec.tolerations", out);
}

void validate_only_removed_gates(const Value& now, const Value& before, FieldErrors& out) {
  for (std::size_t i = 0; i < now.size(); ++i) {
    string_view name = text(now[i], "name");
    if (std::ranges::none_of(before.items(),
                             [&](const Value& gate) { return text(gate, "name") == name; }))
      out.push_back(json::forbidden(
          Path("spec.schedulingGates").index(i) / "name",
          cat("only deletion is allowed, but found new scheduling gate '", name, "'")));
  }
}

void put_back(Value& spec, const Value& old, string_view key) {
  if (present(old, key))
    spec.set(key, old[key]);
  else
    spec.erase(key);
}

bool only_adds(const Value& now, const Value& before, const char* key) {
  auto a = now[key].items(), b = before[key].items();
  return a.size() >= b.size() && std::ranges::equal(a.first(b.size()), b, semantically_equal);
}

bool term_only_adds(const Value& now, const Value& before) {
  bool was_empty = before["matchExpressions"].empty() && before["matchFields"].empty();
  if (was_empty && (!now["matchExpressions"].empty() || !now["matchFields"].empty())) return false;
  return only_adds(now, before, "matchExpressions") && only_adds(now, before, "matchFields");
}

std::string show_term(const Value& term) {
  auto list = [&](const char* key) {
    if (!term[key].is_array()) return std::string("null");
    std::vector<std::string> parts;
    for (const Value& r : term[key].items())
      parts.push_back(show_go_struct(r, {"key", "operator", "values"}));
    return cat("[", join(parts, ","), "]");
  };
  return cat("{\"MatchExpressions\":", list("matchExpressions"),
             ",\"MatchFields\":", list("matchFields"), "}");
}

// The placement of a pod that waits at its gates may change, as long as the change only narrows the
// choice of nodes.
void validate_gated_placement(Value& spec, const Value& old, FieldErrors& out) {
  for (const json::Member& m : old["nodeSelector"].members())
    if (const Value* found = spec["nodeSelector"].find(m.key()); !found || *found != m.value) {
      out.push_back(json::invalid(
          "spec.nodeSelector", spec["nodeSelector"],
          "only additions to spec.nodeSelector are allowed (no mutations or deletions)"));
      break;
    }
  put_back(spec, old, "nodeSelector");

  const Value &now = spec["affinity"]["nodeAffinity"], &before = old["affinity"]["nodeAffinity"];
  if (semantically_equal(now, before)) return;
  constexpr const char* kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
  Path path = Path("spec.affinity.nodeAffinity") / kRequired / "nodeSelectorTerms";
  const Value &terms = now[kRequired]["nodeSelectorTerms"],
              &old_terms = before[kRequired]["nodeSelectorTerms"];
  if (!old_terms.empty() && terms.size() != old_terms.size()) {
    std::vector<std::string> shown;
    for (const Value& term : terms.items()) shown.push_back(show_term(term));
    out.push_back(json::shown_as(
        json::invalid(path, {},
                      "no additions/deletions to non-empty NodeSelectorTerms list are allowed"),
        terms.is_array() ? cat("[", join(shown, ","), "]") : "null"));
  } else {
    for (std::size_t i = 0; i < old_terms.size(); ++i)
      if (!term_only_adds(terms[i], old_terms[i]))
        out.push_back(
            json::shown_as(json::invalid(path.index(i), {},
                                         "only additions are allowed (no mutations or deletions)"),
                           show_term(terms[i])));
  }
  Value affinity = spec["affinity"];
  if (affinity.is_null()) affinity = Value::object();
  put_back(affinity, old["affinity"], "nodeAffinity");
  if (affinity.empty() && !present(old, "affinity"))
    spec.erase("affinity");
  else
    spec.set("affinity", std::move(affinity));
}

Value with_allowed_changes_undone(const Value& pod, const Value& old, FieldErrors& out) {
  Value spec = pod["spec"];
  const Value& before = old["spec"];
  for (const char* key : {"containers", "initContainers"}) {
    std::size_t i = 0;
    edit_items(spec, key,
               [&](Value& container) { put_back(container, before[key][i++], "image"); });
  }
  put_back(spec, before, "activeDeadlineSeconds");
  put_back(spec, before, "schedulingGates");
  put_back(spec, before, "tolerations");
  if (before["terminationGracePeriodSeconds"].as_int() < 0 &&
      spec["terminationGracePeriodSeconds"] == Value(1))
    put_back(spec, before, "terminationGracePeriodSeconds");
  if (!before["schedulingGates"].empty()) validate_gated_placement(spec, before, out);
  return spec;
}

}  // namespace

void validate_pod_annotation_changes(const Value& pod, const Value& old, FieldErrors& out) {
  const Value &now = pod["metadata"]["annotations"], &before = old["metadata"]["annotations"];
  Path path = "metadata.annotations";
  for (const json::Member& m : before.members()) {
    const Value* found = now.find(m.key());
    if (found && *found == m.value) continue;
    if (m.key().starts_with(kAppArmorPrefix))
      out.push_back(
          json::forbidden(path.key(m.key()), "may not remove or update AppArmor annotations"));
    if (m.key() == kMirror)
      out.push_back(
          json::forbidden(path.key(m.key()), "may not remove or update mirror pod annotation"));
  }
  for (const json::Member& m : now.members()) {
    if (before.has(m.key())) continue;
    if (m.key().starts_with(kAppArmorPrefix))
      out.push_back(json::forbidden(path.key(m.key()), "may not add AppArmor annotations"));
    if (m.key() == kMirror)
      out.push_back(json::forbidden(path.key(m.key()), "may not add mirror pod annotation"));
  }
  validate_pod_annotations(now, pod["spec"], path, out);
}

void validate_pod_changes(const Value& pod, const Value& old, FieldErrors& out) {
  const Value &spec = pod["spec"], &before = old["spec"];
  if (!validate_container_list(spec, before, "containers", out) ||
      !validate_container_list(spec, before, "initContainers", out))
    return;
  if (!validate_deadline(spec, before, out)) return;
  validate_only_added_tolerations(spec["tolerations"], before["tolerations"], out);
  validate_only_removed_gates(spec["schedulingGates"], before["schedulingGates"], out);
  if (semantically_equal(spec, before)) return;
  Value undone = with_allowed_changes_undone(pod, old, out);
  if (!semantically_equal(undone, before))
    out.push_back(
        json::forbidden("spec", cat(kUpdatable, unified_diff(indent_json(json::print(before)),
                                                             indent_json(json::print(undone))))));
}

void keep_all_but_ephemeral_containers(Value& pod, const Value& old) {
  Value containers = pod["spec"]["ephemeralContainers"];
  pod.set("spec", old["spec"]);
  if (containers.is_null())
    pod.member("spec").erase("ephemeralContainers");
  else
    pod.member("spec").set("ephemeralContainers", std::move(containers));
  keep_status(pod, old, {});
  for (const char* key : {"labels", "annotations", "ownerReferences", "finalizers"})
    put_back(object_member(pod, "metadata"), old["metadata"], key);
}

FieldErrors validate_ephemeral_container_changes(const Value& pod, const Value& old) {
  FieldErrors out;
  if (old["metadata"]["annotations"].has(kMirror)) {
    out.push_back(json::forbidden("", "static pods do not support ephemeral containers"));
    return out;
  }
  auto now = pod["spec"]["ephemeralContainers"].items();
  for (const Value& before : old["spec"]["ephemeralContainers"].items()) {
    string_view name = text(before, "name");
    auto found = std::ranges::find_if(now, [&](const Value& c) { return text(c, "name") == name; });
    if (found == now.end())
      out.push_back(json::forbidden(
          "spec.ephemeralContainers",
          cat("existing ephemeral containers ", quoted(name), " may not be removed\n")));
    else if (!semantically_equal(*found, before))
      out.push_back(json::forbidden(
          "spec.ephemeralContainers",
          cat("existing ephemeral containers ", quoted(name), " may not be changed\n",
              unified_diff(indent_json(json::print(before)), indent_json(json::print(*found))))));
  }
  return out;
}

void set_pod_condition(Value& pod, Value condition, string_view now) {
  condition.set("lastProbeTime", Value());
  condition.set("lastTransitionTime", now);
  Value& conditions = object_member(pod, "status").member("conditions");
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    if (text(conditions[i], "type") != text(condition, "type")) continue;
    if (conditions[i]["status"] == condition["status"])
      condition.set("lastTransitionTime", conditions[i]["lastTransitionTime"]);
    conditions.item(i) = std::move(condition);
    return;
  }
  conditions.push_back(std::move(condition));
}

}  // namespace cardea::catalog
