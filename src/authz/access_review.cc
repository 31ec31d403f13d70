#include "authz/access_review.h"

#include <algorithm>

#include "base/names.h"
#include "base/strings.h"
#include "json/print.h"

namespace cardea::authz {

using json::FieldErrors;
using json::Value;

namespace {

// A struct's members in the order of its type, as Kubernetes prints one in a message.
std::string shown(const Value& object, std::initializer_list<std::string_view> order) {
  std::string out = "{";
  for (std::string_view key : order) {
    const Value* member = object.find(key);
    if (!member) continue;
    if (out.size() > 1) out += ',';
    json::print_string_to(out, key);
    out += ':';
    if (key != "managedFields") {
      json::print_to(out, *member);
      continue;
    }
    out += '[';
    for (const Value& entry : member->items()) {
      if (out.back() != '[') out += ',';
      out += shown(entry, {"manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1",
                           "subresource"});
    }
    out += ']';
  }
  return out + "}";
}

std::string shown_metadata(const Value& metadata) {
  return shown(metadata, {"name", "generateName", "namespace", "selfLink", "uid", "resourceVersion",
                          "generation", "creationTimestamp", "deletionTimestamp",
                          "deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences",
                          "finalizers", "managedFields"});
}

// The internal type has no names for JSON.
std::string shown_path(const Value& attributes) {
  return cat("{\"Path\":", json::print(attributes["path"].as_string()),
             ",\"Verb\":", json::print(attributes["verb"].as_string()), "}");
}

void check_values(const Value& requirement, const std::string& at, FieldErrors& out) {
  std::string_view op = requirement["operator"].as_string();
  bool has_values = !requirement["values"].empty();
  if ((op == "In" || op == "NotIn") && !has_values)
    out.push_back(
        json::required(at + ".values", "must be specified when `operator` is 'In' or 'NotIn'"));
  if ((op == "Exists" || op == "DoesNotExist") && has_values)
    out.push_back(json::forbidden(
        at + ".values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
}

void check_selector(const Value* selector, const std::string& at, bool is_label, FieldErrors& out) {
  if (!selector || selector->is_null()) return;
  std::string_view raw = (*selector)["rawSelector"].as_string();
  const Value& requirements = (*selector)["requirements"];
  if (!raw.empty() && !requirements.empty())
    out.push_back(json::invalid(at + ".rawSelector", raw,
                                "may not specified at the same time as requirements"));
  if (raw.empty() && requirements.empty())
    out.push_back(
        json::required(at + ".requirements",
                       cat("when ", at, " is specified, requirements or rawSelector is required")));
  for (std::size_t i = 0; i < requirements.size(); ++i) {
    std::string where = cat(at, ".requirements[", i, "]");
    std::string_view key = requirements[i]["key"].as_string();
    if (is_label) {
      check_values(requirements[i], where, out);
      for (const std::string& problem : label_key_problems(key))
        out.push_back(json::invalid(where + ".key", key, problem));
    } else {
      if (key.empty()) out.push_back(json::required(where + ".key", "must be specified"));
      check_values(requirements[i], where, out);
    }
  }
}

// Whether metadata says anything beyond what it may.
bool says_more(const Value& metadata, bool with_namespace) {
  return std::ranges::any_of(metadata.members(), [&](const json::Member& m) {
    return m.key() != "managedFields" && !(with_namespace && m.key() == "namespace") &&
           !m.value.is_null();
  });
}

void add_error(std::string& errors, std::string_view error) {
  if (!errors.empty()) errors += ", ";
  errors += error;
}

// The terms that requirements can express; the others are left out, which widens the question.
void read_fields(const Value& requirements, Selectors& out) {
  for (const Value& r : requirements.items()) {
    std::string_view op = r["operator"].as_string();
    const Value& values = r["values"];
    bool is_in = op == "In", is_not_in = op == "NotIn";
    if (values.size() > 1)
      add_error(out.field_error, "fieldSelectors do not yet support multiple values");
    else if (!is_in && !is_not_in)
      add_error(out.field_error, op == "Exists" || op == "DoesNotExist"
                                     ? cat("fieldSelectors do not yet support ", op)
                                     : cat(quoted(op), " is not a valid field selector operator"));
    else if (values.empty())
      add_error(out.field_error, is_in ? "fieldSelectors in must have one value"
                                       : "fieldSelectors not in must have one value");
    else
      out.fields.add(
          {std::string(r["key"].as_string()), is_in, std::string(values[0].as_string())});
  }
}

void read_labels(const Value& requirements, Selectors& out) {
  using Operator = json::LabelSelector::Operator;
  struct Row {
    std::string_view name;
    Operator op;
  };
  static constexpr Row kRows[] = {{"In", Operator::kIn},
                                  {"NotIn", Operator::kNotIn},
                                  {"Exists", Operator::kExists},
                                  {"DoesNotExist", Operator::kDoesNotExist}};
  for (const Value& r : requirements.items()) {
    const Row* row = std::ranges::find(kRows, r["operator"].as_string(), &Row::name);
    if (row == std::end(kRows)) {
      add_error(out.label_error,
                cat(quoted(r["operator"].as_string()), " is not a valid label selector operator"));
      continue;
    }
    json::LabelSelector::Requirement requirement{std::string(r["key"].as_string()), row->op, {}};
    for (const Value& v : r["values"].items()) requirement.values.emplace_back(v.as_string());
    if (auto ok = json::LabelSelector::check(requirement); !ok)
      add_error(out.label_error, ok.error().message);
    else
      out.labels.add(std::move(requirement));
  }
}

std::string remark(std::string_view which, bool some, std::string_view error) {
  if (error.empty()) return "";
  return cat("spec.resourceAttributes.", which, some ? " partially ignored" : " ignored",
             " due to parse error");
}

}  // namespace

FieldErrors validate_question(const Value& spec, const std::string& at) {
  FieldErrors out;
  const Value& resource = spec["resourceAttributes"];
  const Value& path = spec["nonResourceAttributes"];
  if (!resource.is_null() && !path.is_null())
    out.push_back(
        json::shown_as(json::invalid(at + ".nonResourceAttributes", {},
                                     "cannot be specified in combination with resourceAttributes"),
                       shown_path(path)));
  if (resource.is_null() && path.is_null())
    out.push_back(json::invalid(
        at + ".resourceAttributes", {},
        "exactly one of nonResourceAttributes or resourceAttributes must be specified"));
  return out;
}

FieldErrors validate_selectors(const Value& spec, const std::string& at) {
  FieldErrors out;
  const Value& resource = spec["resourceAttributes"];
  check_selector(resource.find("fieldSelector"), at + ".resourceAttributes.fieldSelector", false,
                 out);
  check_selector(resource.find("labelSelector"), at + ".resourceAttributes.labelSelector", true,
                 out);
  return out;
}

FieldErrors validate_review(ReviewKind kind, const Value& review) {
  const Value& spec = review["spec"];
  const Value& metadata = review["metadata"];
  FieldErrors out = validate_question(spec, "spec");
  if (kind != ReviewKind::kSelfSubject && spec["user"].as_string().empty() &&
      spec["groups"].empty())
    out.push_back(
        json::invalid("spec.user", "", "at least one of user or group must be specified"));
  for (json::FieldError& e : validate_selectors(spec, "spec")) out.push_back(std::move(e));
  bool is_local = kind == ReviewKind::kLocalSubject;
  if (says_more(metadata, is_local))
    out.push_back(json::shown_as(
        json::invalid("metadata", {},
                      is_local ? "must be empty except for namespace" : "must be empty"),
        shown_metadata(metadata)));
  if (!is_local) return out;
  const Value& resource = spec["resourceAttributes"];
  if (!resource.is_null() && resource["namespace"].as_string() != metadata["namespace"].as_string())
    out.push_back(json::invalid("spec.resourceAttributes.namespace",
                                resource["namespace"].as_string(),
                                "must match metadata.namespace"));
  if (const Value& path = spec["nonResourceAttributes"]; !path.is_null())
    out.push_back(json::shown_as(
        json::invalid("spec.nonResourceAttributes", {}, "disallowed on this kind of request"),
        shown_path(path)));
  return out;
}

Question::Question(Value spec) : spec_(std::move(spec)) {
  const Value& resource = spec_["resourceAttributes"];
  const Value& fields = resource["fieldSelector"];
  const Value& labels = resource["labelSelector"];
  if (fields.is_null() && labels.is_null()) return;
  Selectors& out = selectors_.emplace();
  if (std::string_view raw = fields["rawSelector"].as_string(); !raw.empty()) {
    if (auto parsed = json::FieldSelector::parse(raw))
      out.fields = std::move(*parsed);
    else
      out.field_error = parsed.error().message;
  } else {
    read_fields(fields["requirements"], out);
  }
  if (std::string_view raw = labels["rawSelector"].as_string(); !raw.empty()) {
    if (auto parsed = json::LabelSelector::parse(raw))
      out.labels = std::move(*parsed);
    else
      out.label_error = parsed.error().message;
  } else {
    read_labels(labels["requirements"], out);
  }
  remarks_ = evaluation_error(remark("fieldSelector", !out.fields.empty(), out.field_error),
                              remark("labelSelector", !out.labels.empty(), out.label_error));
}

Attributes Question::attributes(const User& user) const {
  Attributes out(user);
  const Value& resource = spec_["resourceAttributes"];
  if (resource.is_null()) {
    const Value& path = spec_["nonResourceAttributes"];
    out.verb = path["verb"].as_string();
    out.path = path["path"].as_string();
    return out;
  }
  out.is_resource_request = true;
  out.verb = resource["verb"].as_string();
  out.api_group = resource["group"].as_string();
  out.api_version = resource["version"].as_string();
  if (out.api_version.empty()) out.api_version = "*";
  out.namespace_name = resource["namespace"].as_string();
  out.resource = resource["resource"].as_string();
  out.subresource = resource["subresource"].as_string();
  out.name = resource["name"].as_string();
  if (selectors_) out.selectors = &*selectors_;
  return out;
}

std::string evaluation_error(std::string_view error, std::string_view remarks) {
  if (error.empty() || remarks.empty()) return cat(error, remarks);
  return cat(error, "; ", remarks);
}

Value review_status(const Decision& decision, std::string_view remarks) {
  Value status = Value::object({{"allowed", decision.allowed()}});
  if (decision.kind == Decision::Kind::kDeny) status.set("denied", true);
  if (std::string reason = decision.reason.text(); !reason.empty()) status.set("reason", reason);
  if (std::string error = evaluation_error(decision.error, remarks); !error.empty())
    status.set("evaluationError", error);
  return status;
}

}  // namespace cardea::authz
