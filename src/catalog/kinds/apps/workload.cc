#include "catalog/kinds/apps/workload.h"

#include "catalog/kinds/core/pod_defaults.h"
#include "catalog/kinds/core/pod_validation.h"
#include "catalog/kinds/label_selector.h"

namespace cardea::catalog {

bool validate_workload_selector(const Value& selector, const Path& path, std::string_view kind,
                                FieldErrors& out) {
  if (selector.is_null()) {
    out.push_back(json::required(path));
    return true;
  }
  validate_label_selector(selector, path, out);
  if (selector_is_empty(selector))
    out.push_back(
        invalid_shown(path, shown_selector(selector), cat("empty selector is invalid for ", kind)));
  if (selector_is_usable(selector)) return true;
  // For StatefulSets the reason is left out.
  out.push_back(invalid_shown(path, shown_selector(selector),
                              kind == "statefulset" ? "" : "invalid label selector"));
  return false;
}

void validate_workload_template(const Value& pod_template, const Value& selector, const Path& path,
                                std::string_view kind, const StrategyContext& context,
                                FieldErrors& out) {
  const Value& labels = pod_template["metadata"]["labels"];
  bool empty = !selector.is_null() && selector_is_empty(selector);
  if (!empty && !selector_matches(selector, labels))
    out.push_back(json::invalid(path / "metadata" / "labels", labels.empty() ? Value() : labels,
                                "`selector` does not match template `labels`"));
  validate_running_template(pod_template, path, kind, context, out);
}

void validate_running_template(const Value& pod_template, const Path& path, std::string_view kind,
                               const StrategyContext& context, FieldErrors& out) {
  validate_pod_template(pod_template, path, context, out);
  const Value& spec = pod_template["spec"];
  check_one_of(path / "spec" / "restartPolicy", spec["restartPolicy"], {"Always"}, out);
  if (!spec["activeDeadlineSeconds"].is_null())
    out.push_back(json::forbidden(path / "spec" / "activeDeadlineSeconds",
                                  cat("activeDeadlineSeconds in ", kind, " is not Supported")));
}

void check_counts(const Path& path, const Value& status,
                  std::initializer_list<std::string_view> names, FieldErrors& out) {
  for (std::string_view name : names) check_not_negative(path / name, status[name], out);
}

void check_not_above(const Path& path, const Value& status, std::string_view name,
                     std::string_view limit, std::string_view limit_text, FieldErrors& out) {
  if (status[name].as_int() > status[limit].as_int())
    out.push_back(json::invalid(path / name, Value(status[name].as_int()),
                                cat("cannot be greater than ", limit_text)));
}

std::vector<std::string> workload_warnings(const Value& object, const Value* old,
                                           const StrategyContext&) {
  std::vector<std::string> out;
  const Value& pod_template = object["spec"]["template"];
  if (old == nullptr || !semantically_equal(pod_template, (*old)["spec"]["template"]))
    warn_about_pod_template(pod_template, "spec.template", out);
  return out;
}

void warn_about_pod_name(const Value& object, std::vector<std::string>& out) {
  const Value& name = object["metadata"]["name"];
  auto complaints = dns1123_label(name.as_string());
  if (name.as_string().empty() || complaints.empty()) return;
  out.push_back(
      cat("metadata.name: this is used in Pod names and hostnames, which can result in surprising "
          "behavior; a DNS label is recommended: [",
          join(complaints, " "), "]"));
}

void default_workload_template(Value& spec) {
  default_pod_template(object_member(spec, "template"));
}

}  // namespace cardea::catalog
