#include "authz/webhook/review_spec.h"

#include "authz/user_info.h"
#include "authz/wire/webhook_conditions.h"
#include "base/strings.h"

namespace cardea::authz {

using json::Value;

namespace {

void set_text(Value& object, std::string_view key, std::string_view text) {
  if (!text.empty()) object.set(key, text);
}

Value requirement(std::string_view key, std::string_view op,
                  const std::vector<std::string>& values) {
  Value out = Value::object({{"key", key}, {"operator", op}});
  for (const std::string& v : values) out.member("values").push_back(v);
  return out;
}

std::string_view operator_of(json::LabelSelector::Operator op) {
  using Operator = json::LabelSelector::Operator;
  switch (op) {
    case Operator::kIn:
    case Operator::kEquals:
      return "In";
    case Operator::kNotIn:
    case Operator::kNotEquals:
      return "NotIn";
    case Operator::kExists:
      return "Exists";
    case Operator::kDoesNotExist:
      return "DoesNotExist";
    case Operator::kGreaterThan:
    case Operator::kLessThan:
      break;
  }
  return "";
}

}  // namespace

Value field_requirements(const Selectors& selectors) {
  Value out = Value::array();
  for (const auto& t : selectors.fields.terms())
    out.push_back(requirement(t.field, t.equal ? "In" : "NotIn", {t.value}));
  return out;
}

Value label_requirements(const Selectors& selectors) {
  Value out = Value::array();
  for (const auto& r : selectors.labels.requirements())
    if (std::string_view op = operator_of(r.op); !op.empty())
      out.push_back(requirement(r.key, op, r.values));
  return out;
}

namespace {

void add_selectors(Value& resource, const Selectors& selectors) {
  Value fields = field_requirements(selectors), labels = label_requirements(selectors);
  if (!fields.empty()) resource.set("fieldSelector", Value::object({{"requirements", fields}}));
  if (!labels.empty()) resource.set("labelSelector", Value::object({{"requirements", labels}}));
}

constexpr std::string_view kTexts[] = {"namespace", "verb",        "group", "version",
                                       "resource",  "subresource", "name"};

}  // namespace

Value review_spec(const Attributes& a) {
  Value spec = Value::object();
  if (a.is_resource_request) {
    Value resource = Value::object();
    const std::string_view texts[] = {a.namespace_name, a.verb,        a.api_group, a.api_version,
                                      a.resource,       a.subresource, a.name};
    for (std::size_t i = 0; i < std::size(kTexts); ++i) set_text(resource, kTexts[i], texts[i]);
    if (a.selectors) add_selectors(resource, *a.selectors);
    spec.set("resourceAttributes", std::move(resource));
  } else {
    Value path = Value::object();
    set_text(path, "path", a.path);
    set_text(path, "verb", a.verb);
    spec.set("nonResourceAttributes", std::move(path));
  }
  add_subject(spec, a.user);
  return spec;
}

Value matched_spec(const Value& spec) {
  Value out = spec;
  for (std::string_view key : {"user", "uid"})
    if (!out.has(key)) out.set(key, "");
  if (!out.has("groups")) out.set("groups", Value::array());
  if (!out.has("extra")) out.set("extra", Value::object());
  if (out.has("resourceAttributes")) {
    Value& resource = out.member("resourceAttributes");
    for (std::string_view key : kTexts)
      if (!resource.has(key)) resource.set(key, "");
  }
  if (out.has("nonResourceAttributes")) {
    Value& path = out.member("nonResourceAttributes");
    for (std::string_view key : {"path", "verb"})
      if (!path.has(key)) path.set(key, "");
  }
  return out;
}

Value review_asking(const Value& spec, std::string_view version) {
  Value sent = spec;
  if (version == "v1beta1" && sent.has("groups")) {
    Value groups = sent["groups"];
    sent.erase("groups");
    sent.set("group", std::move(groups));
  }
  return Value::object({{"kind", "SubjectAccessReview"},
                        {"apiVersion", cat("authorization.k8s.io/", version)},
                        {"metadata", Value::object()},
                        {"spec", std::move(sent)},
                        {"status", Value::object({{"allowed", false}})}});
}

Result<Decision> decision_in(const Value& review, std::string_view asked_version,
                             wire::Dialect asked) {
  auto garbage = [](std::string what) {
    return fail(internal_error(cat("the webhook's answer is not a SubjectAccessReview: ", what)));
  };
  if (const Value& kind = review["kind"];
      !kind.is_null() && kind.as_string() != "SubjectAccessReview")
    return garbage(cat("its kind is ", quoted(kind.as_string())));
  if (const Value& version = review["apiVersion"];
      !version.is_null() && version.as_string() != cat("authorization.k8s.io/", asked_version))
    return garbage(cat("its apiVersion is ", quoted(version.as_string())));
  const Value& status = review["status"];
  if (!status.is_null() && !status.is_object()) return garbage("its status must be an object");
  for (std::string_view key : {"allowed", "denied"})
    if (const Value& v = status[key]; !v.is_null() && !v.is_bool())
      return garbage(cat("status.", key, " must be a boolean"));
  for (std::string_view key : {"reason", "evaluationError"})
    if (const Value& v = status[key]; !v.is_null() && !v.is_string())
      return garbage(cat("status.", key, " must be a string"));
  if (!status["conditionalDecision"].is_null() || !status["conditionsChain"].is_null())
    return wire::decision_in_status(status, asked);
  bool allowed = status["allowed"].as_bool(), denied = status["denied"].as_bool();
  Decision out = denied ? Decision::deny({}) : allowed ? Decision::allow() : Decision::no_opinion();
  out.reason = std::string(status["reason"].as_string());
  if (allowed && denied)
    out.error = "webhook subject access review returned both allow and deny response";
  return out;
}

}  // namespace cardea::authz
