// sar.json: the answers to the SubjectAccessReview kinds, and the bodies of 403 answers.
#include <cstdio>

#include "authz/access_review.h"
#include "authz/authorizer.h"
#include "authz/user_info.h"
#include "conformance/conformance.h"
#include "json/print.h"
#include "rest/present/status.h"

namespace cardea::conformance {
namespace {

using json::Value;

void set_text(Value& object, std::string_view key, std::string_view text) {
  if (!text.empty()) object.set(key, text);
}

std::string_view name_of(json::LabelSelector::Operator op) {
  using Operator = json::LabelSelector::Operator;
  switch (op) {
    case Operator::kIn:
      return "in";
    case Operator::kNotIn:
      return "notin";
    case Operator::kEquals:
      return "=";
    case Operator::kNotEquals:
      return "!=";
    case Operator::kExists:
      return "exists";
    case Operator::kDoesNotExist:
      return "!";
    case Operator::kGreaterThan:
      return "gt";
    case Operator::kLessThan:
      return "lt";
  }
  return "";
}

Value shown(const authz::User& user) {
  Value out = Value::object();
  set_text(out, "name", user.name);
  set_text(out, "uid", user.uid);
  for (const std::string& g : user.groups) out.member("groups").push_back(g);
  for (const auto& [key, values] : user.extra)
    for (const std::string& v : values) out.member("extra").member(key).push_back(v);
  return out;
}

Value shown(const authz::Attributes& a) {
  Value out = Value::object({{"resourceRequest", a.is_resource_request}, {"user", shown(a.user)}});
  set_text(out, "verb", a.verb);
  set_text(out, "path", a.path);
  set_text(out, "namespace", a.namespace_name);
  set_text(out, "apiGroup", a.api_group);
  set_text(out, "apiVersion", a.api_version);
  set_text(out, "resource", a.resource);
  set_text(out, "subresource", a.subresource);
  set_text(out, "name", a.name);
  if (!a.selectors) return out;
  for (const auto& t : a.selectors->fields.terms())
    out.member("fieldSelectorRequirements")
        .push_back(Value::object(
            {{"field", t.field}, {"operator", t.equal ? "=" : "!="}, {"value", t.value}}));
  for (const auto& r : a.selectors->labels.requirements()) {
    Value values = Value::array();
    for (const std::string& v : r.values) values.push_back(v);
    out.member("labelSelectorRequirements")
        .push_back(
            Value::object({{"key", r.key}, {"operator", name_of(r.op)}, {"values", values}}));
  }
  set_text(out, "fieldSelectorError", a.selectors->field_error);
  set_text(out, "labelSelectorError", a.selectors->label_error);
  return out;
}

void compare(Counts& counts, std::string_view part, const Value& name, const Value& got,
             const Value& want) {
  counts.check(got == want);
  if (got != want)
    std::printf("sar %.*s %s: got %s, want %s\n", static_cast<int>(part.size()), part.data(),
                json::print(name).c_str(), json::print(got).c_str(), json::print(want).c_str());
}

authz::ReviewKind kind_of(std::string_view name) {
  if (name == "LocalSubjectAccessReview") return authz::ReviewKind::kLocalSubject;
  return name == "SelfSubjectAccessReview" ? authz::ReviewKind::kSelfSubject
                                           : authz::ReviewKind::kSubject;
}

void run_validation(Counts& counts, const Value& c) {
  json::FieldErrors errors = authz::validate_review(kind_of(c["kind"].as_string()), c["object"]);
  std::string got;
  for (const json::FieldError& e : errors) got += (got.empty() ? "" : ", ") + e.message();
  std::string_view want = c["errorContains"].as_string();
  bool ok = want.empty() ? errors.empty() : got.find(want) != std::string::npos;
  // The file is from a later version than the recorded conversations; the wording of both blocks
  // differs there.
  const Value& spec = c["object"]["spec"];
  if (!ok && spec.has("resourceAttributes") && spec.has("nonResourceAttributes") &&
      want.starts_with("exactly one of"))
    ok = got.find("cannot be specified in combination with resourceAttributes") !=
         std::string::npos;
  counts.check(ok);
  if (!ok)
    std::printf("sar validation %s: got %s, want %s\n", json::print(c["name"]).c_str(), got.c_str(),
                std::string(want).c_str());
}

Error refusal_of(const Value& c, const authz::User& user) {
  const Value& a = c["attributes"];
  authz::Attributes attributes(user);
  attributes.is_resource_request = a["resourceRequest"].as_bool();
  attributes.verb = a["verb"].as_string();
  attributes.path = a["path"].as_string();
  attributes.namespace_name = a["namespace"].as_string();
  attributes.api_group = a["apiGroup"].as_string();
  attributes.resource = a["resource"].as_string();
  attributes.subresource = a["subresource"].as_string();
  attributes.name = a["name"].as_string();
  return authz::forbidden(attributes, std::string(c["reason"].as_string()));
}

// A selector whose `requirements` can be read; with `error`, one further requirement cannot.
Value selector_with(const Value& c, bool is_label) {
  Value requirements = Value::array();
  for (std::int64_t i = 0; i < c["requirements"].as_int(); ++i)
    requirements.push_back(
        Value::object({{"key", "k"}, {"operator", "In"}, {"values", Value::array({Value("v")})}}));
  if (c["error"].as_bool())
    requirements.push_back(Value::object({{"key", is_label ? "l" : "f"}, {"operator", "bad"}}));
  return Value::object({{"requirements", requirements}});
}

}  // namespace

Counts run_sar(const std::string& path) {
  Counts counts;
  Value data = read(path);
  for (const Value& c : data["attributesFromSpec"].items()) {
    authz::User user = authz::read_subject(c["spec"]);
    authz::Question question(c["spec"]);
    compare(counts, "attributes", c["name"], shown(question.attributes(user)), c["attributes"]);
  }
  for (const Value& c : data["validation"].items()) run_validation(counts, c);
  for (const Value& c : data["forbidden"].items()) {
    authz::User user{.name = std::string(c["attributes"]["user"].as_string())};
    compare(counts, "forbidden", c["attributes"], rest::status_document(refusal_of(c, user)),
            c["body"]);
  }
  for (const Value& c : data["forbiddenDerived"].items()) {
    authz::User user{.name = std::string(c["attributes"]["user"].as_string())};
    compare(counts, "forbidden", c["description"], refusal_of(c, user).message, c["message"]);
  }
  for (const Value& c : data["evaluationError"].items()) {
    Value resource = Value::object();
    if (!c["fieldSelector"].is_null())
      resource.set("fieldSelector", selector_with(c["fieldSelector"], false));
    if (!c["labelSelector"].is_null())
      resource.set("labelSelector", selector_with(c["labelSelector"], true));
    authz::Question question(Value::object({{"resourceAttributes", resource}}));
    compare(counts, "evaluationError", c["expect"],
            authz::evaluation_error(c["authorizerError"].as_string(), question.remarks()),
            c["expect"]);
  }
  return counts;
}

}  // namespace cardea::conformance
