#include "catalog/kinds/check.h"
#include "catalog/kinds/label_selector.h"
#include "catalog/kinds/strategies.h"
#include "json/print.h"

namespace cardea::catalog {
namespace {

// A requirement of a selector in a review: the form of a label selector's expression, but operators that
// are not known pass, since authorizers skip what they do not understand.
void validate_requirements(const Path& path, const Value& requirements, bool labels, FieldErrors& out) {
  for (std::size_t i = 0; i < requirements.size(); ++i) {
    const Value& r = requirements[i];
    Path at = path.index(i);
    std::string_view op = r["operator"].as_string();
    if (!labels && r["key"].as_string().empty())
      out.push_back(json::required(at / "key", "must be specified"));
    if ((op == "In" || op == "NotIn") && r["values"].empty())
      out.push_back(json::required(at / "values", "must be specified when `operator` is 'In' or 'NotIn'"));
    if ((op == "Exists" || op == "DoesNotExist") && !r["values"].empty())
      out.push_back(json::forbidden(at / "values",
                                    "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
    if (labels) {
      complain(at / "key", r["key"].as_string(), qualified_name(r["key"].as_string()), out);
      if (op == "In" || op == "NotIn")
        for (std::size_t j = 0; j < r["values"].size(); ++j)
          complain((at / "values").index(j), r["values"][j], label_value(r["values"][j].as_string()), out);
    }
  }
}

void validate_selector(const Path& path, const Value& selector, bool labels, FieldErrors& out) {
  if (selector.is_null()) return;
  bool raw = !selector["rawSelector"].as_string().empty(), listed = !selector["requirements"].empty();
  if (!raw && !listed)
    out.push_back(
        json::required(path / "requirements",
                       cat("when ", path.text(), " is specified, requirements or rawSelector is required")));
  if (raw && listed)
    out.push_back(json::invalid(path / "rawSelector", selector["rawSelector"],
                                "may not specified at the same time as requirements"));
  validate_requirements(path / "requirements", selector["requirements"], labels, out);
}

Shown shown_non_resource(const Value& attributes) {
  return shown_struct(
      {{"Path", shown_or(attributes["path"], "")}, {"Verb", shown_or(attributes["verb"], "")}});
}

void validate_attributes(const Value& spec, FieldErrors& out) {
  const Value& resource = spec["resourceAttributes"];
  const Value& other = spec["nonResourceAttributes"];
  if (!resource.is_null() && !other.is_null())
    out.push_back(invalid_shown("spec.nonResourceAttributes", shown_non_resource(other),
                                "cannot be specified in combination with resourceAttributes"));
  if (resource.is_null() && other.is_null())
    out.push_back(
        json::invalid("spec.resourceAttributes", Value(),
                      "exactly one of nonResourceAttributes or resourceAttributes must be specified"));
  if (resource.is_null()) return;
  validate_selector("spec.resourceAttributes.fieldSelector", resource["fieldSelector"], false, out);
  validate_selector("spec.resourceAttributes.labelSelector", resource["labelSelector"], true, out);
}

// Reviews are questions, not objects: their metadata is empty. What the server itself records there does
// not count, but it is shown.
void validate_metadata(const Value& object, bool keep_namespace, FieldErrors& out) {
  Value meta = object["metadata"];
  bool given = false;
  for (const json::Member& m : meta.members()) {
    if (m.key() == "managedFields" || m.key() == "uid" || m.key() == "creationTimestamp") continue;
    if (m.key() == "namespace" && keep_namespace) continue;
    given |= !is_zero(m.value);
  }
  if (!given) return;
  if (meta.is_object()) {
    meta.erase("uid");
    meta.erase("creationTimestamp");
  }
  std::string text = "{";
  auto add = [&](std::string_view name, const Shown& value) {
    if (text.size() > 1) text += ',';
    json::print_string_to(text, name);
    text += cat(":", value);
  };
  for (std::string_view name : {"name", "generateName", "namespace", "resourceVersion", "generation",
                                "labels", "annotations", "ownerReferences", "finalizers"})
    if (!is_zero(meta[name])) add(name, shown(meta[name]));
  if (!meta["managedFields"].empty()) {
    std::string entries;
    for (const Value& entry : meta["managedFields"].items())
      entries +=
          cat(entries.empty() ? "" : ",", shown_in_order(entry, {"manager", "operation", "apiVersion", "time",
                                                                 "fieldsType", "fieldsV1", "subresource"}));
    add("managedFields", cat("[", entries, "]"));
  }
  out.push_back(invalid_shown("metadata", text + "}",
                              keep_namespace ? "must be empty except for namespace" : "must be empty"));
}

void validate_subject(const Value& spec, FieldErrors& out) {
  if (spec["user"].as_string().empty() && spec["groups"].empty())
    out.push_back(json::invalid("spec.user", "", "at least one of user or group must be specified"));
}

FieldErrors validate_review(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_attributes(object["spec"], out);
  validate_subject(object["spec"], out);
  validate_metadata(object, false, out);
  return out;
}

FieldErrors validate_self_review(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_attributes(object["spec"], out);
  validate_metadata(object, false, out);
  return out;
}

FieldErrors validate_local_review(const Value& object, const StrategyContext& context) {
  FieldErrors out;
  validate_attributes(object["spec"], out);
  validate_subject(object["spec"], out);
  validate_metadata(object, true, out);
  const Value& spec = object["spec"];
  if (!spec["resourceAttributes"].is_null() &&
      spec["resourceAttributes"]["namespace"].as_string() != context.namespace_name)
    out.push_back(json::invalid("spec.resourceAttributes.namespace",
                                spec["resourceAttributes"]["namespace"].as_string(),
                                "must match metadata.namespace"));
  if (!spec["nonResourceAttributes"].is_null())
    out.push_back(invalid_shown("spec.nonResourceAttributes",
                                shown_non_resource(spec["nonResourceAttributes"]),
                                "disallowed on this kind of request"));
  return out;
}

FieldErrors accept(const Value&, const StrategyContext&) {
  return {};
}

}  // namespace

const Strategy& subject_access_review_strategy() {
  static const Strategy strategy{.validate_create = validate_review};
  return strategy;
}
const Strategy& self_subject_access_review_strategy() {
  static const Strategy strategy{.validate_create = validate_self_review};
  return strategy;
}
const Strategy& local_subject_access_review_strategy() {
  static const Strategy strategy{.validate_create = validate_local_review};
  return strategy;
}
const Strategy& self_subject_rules_review_strategy() {
  static const Strategy strategy{.validate_create = accept};
  return strategy;
}
const Strategy& token_review_strategy() {
  static const Strategy strategy{.validate_create = accept};
  return strategy;
}
const Strategy& self_subject_review_strategy() {
  static const Strategy strategy{.validate_create = accept};
  return strategy;
}

}  // namespace cardea::catalog
