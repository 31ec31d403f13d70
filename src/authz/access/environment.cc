#include "authz/access/environment.h"

#include "authz/webhook/review_spec.h"
#include "base/result.h"
#include "cel/environments.h"

namespace cardea::authz::access {
namespace {

using cel::Value;

constexpr std::string_view kUnknown[] = {"operation",
                                         "object",
                                         "oldObject",
                                         "options",
                                         "namespaceObject",
                                         "authorizer",
                                         "authorizer.requestResource"};
constexpr std::string_view kImpersonated = "impersonatedRequest";

void declare_request(cel::Environment& env) {
  env.record("access.UserInfo", {{"username", "string"},
                                 {"uid", "string"},
                                 {"groups", "list(string)"},
                                 {"extra", "map(string, list(string))"}});
  env.record("access.SelectorRequirement",
             {{"key", "string"}, {"operator", "string"}, {"values", "list(string)"}});
  env.record("access.Selector", {{"requirements", "list(.access.SelectorRequirement)"}});
  env.record("access.Request", {{"userInfo", ".access.UserInfo"},
                                {"verb", "string"},
                                {"apiGroup", "string"},
                                {"apiVersion", "string"},
                                {"resource", "string"},
                                {"subresource", "string"},
                                {"namespace", "string"},
                                {"name", "string"},
                                {"path", "string"},
                                {"fieldSelector", ".access.Selector"},
                                {"labelSelector", ".access.Selector"}});
  env.variable("request", ".access.Request").variable("operation", "string");
}

void declare_rest(cel::Environment& env) {
  env.variable("options", "dyn").variable("namespaceObject", "dyn");
  env.variable("authorizer", "kubernetes.authorization.Authorizer");
  env.variable("authorizer.requestResource", "kubernetes.authorization.ResourceCheck");
  env.variable(kImpersonated, ".access.Request");
}

Language make_language() {
  cel::Environment env = cel::kubernetes_environment();
  declare_request(env);
  env.variable("object", "dyn").variable("oldObject", "dyn");
  declare_rest(env);
  std::shared_ptr<const cel::Environment> shared = std::move(env).share();
  std::vector<std::string> names(std::begin(kUnknown), std::end(kUnknown));
  std::uint64_t bits = 0;
  for (const std::string& name : names) bits |= cel::slot_bit(shared->find_variable(name)->slot);
  CARDEA_CHECK(shared->find_variable("authorizer.requestResource")->slot ==
               Language::kRequestResource);
  CARDEA_CHECK(shared->find_variable("request")->slot == Language::kRequest);
  const cel::Variable* impersonated = shared->find_variable(kImpersonated);
  CARDEA_CHECK(impersonated->slot == Language::kImpersonatedRequest);
  cel::Unknowns unknowns = cel::Unknowns::variables(*shared, names);
  std::vector<cel::UnknownPattern> unnamed;
  for (const std::string& name : names) unnamed.push_back({name, {}});
  unnamed.push_back({"request", {{.key = cel::Value::of_text("name")}}});
  cel::Unknowns without_name(*shared, unnamed);
  std::vector<std::string> in_residuals = names;
  in_residuals.emplace_back("request");
  cel::Unknowns with_object = cel::Unknowns::variables(*shared, in_residuals);
  names.emplace_back(kImpersonated);
  cel::Unknowns more = cel::Unknowns::variables(*shared, names);
  return {std::move(shared),      std::move(unknowns),
          std::move(more),        std::move(without_name),
          std::move(with_object), bits | cel::slot_bit(impersonated->slot)};
}

const Value kNameKey[] = {Value::of_text("name")};
const Value kUserKeys[] = {Value::of_text("username"), Value::of_text("uid"),
                           Value::of_text("groups"), Value::of_text("extra")};
const Value kKeys[] = {
    Value::of_text("userInfo"),      Value::of_text("verb"),         Value::of_text("apiGroup"),
    Value::of_text("apiVersion"),    Value::of_text("resource"),     Value::of_text("subresource"),
    Value::of_text("namespace"),     Value::of_text("name"),         Value::of_text("path"),
    Value::of_text("fieldSelector"), Value::of_text("labelSelector")};

// Every requirement has values, perhaps none.
json::Value selector(json::Value requirements) {
  for (std::size_t i = 0; i < requirements.size(); ++i)
    if (!requirements[i].has("values")) requirements.item(i).set("values", json::Value::array());
  return json::Value::object({{"requirements", std::move(requirements)}});
}
const json::Value kNoSelector = selector(json::Value::array());

}  // namespace

const Language& language() {
  static const Language made = make_language();
  return made;
}

bool is_impersonation_check(const Attributes& a) {
  return a.verb == "impersonate" || a.verb.starts_with("impersonate:") ||
         a.verb.starts_with("impersonate-on:");
}

cel::Environment language_without_objects() {
  cel::Environment env = cel::kubernetes_environment();
  declare_request(env);
  declare_rest(env);
  return env;
}

Value json_or_null(const json::Value* document) {
  return document && !document->is_null() ? Value::of_json(*document) : Value::null();
}

RequestValue::RequestValue(const Attributes& a) {
  const User& user = a.user;
  groups_.reserve(user.groups.size());
  for (const std::string& group : user.groups) groups_.push_back(Value::of_text(group));
  for (const auto& [key, texts] : user.extra) {
    std::vector<Value>& list = extra_lists_.emplace_back();
    for (const std::string& t : texts) list.push_back(Value::of_text(t));
    extra_keys_.push_back(Value::of_text(key));
    extra_values_.push_back(Value::of_items(list.data(), list.size()));
  }
  extra_ = {.keys = extra_keys_.data(), .values = extra_values_.data()};
  user_values_ = {Value::of_text(user.name), Value::of_text(user.uid),
                  Value::of_items(groups_.data(), groups_.size()),
                  Value::of_map(&extra_, extra_keys_.size())};
  user_ = {.keys = kUserKeys, .values = user_values_.data()};
  if (a.selectors) {
    fields_ = selector(field_requirements(*a.selectors));
    labels_ = selector(label_requirements(*a.selectors));
  }
  values_ = {Value::of_map(&user_, std::size(kUserKeys)),
             Value::of_text(a.verb),
             Value::of_text(a.api_group),
             Value::of_text(a.api_version),
             Value::of_text(a.resource),
             Value::of_text(a.subresource),
             Value::of_text(a.namespace_name),
             Value::of_text(a.name),
             Value::of_text(a.path),
             Value::of_json(a.selectors ? fields_ : kNoSelector),
             Value::of_json(a.selectors ? labels_ : kNoSelector)};
  node_ = {.keys = kKeys, .values = values_.data()};
  request_ = Value::of_map(&node_, std::size(kKeys));
}

NameValue::NameValue(std::string_view name)
    : name_(Value::of_text(name)), node_{.keys = kNameKey, .values = &name_} {
  request_ = Value::of_map(&node_, 1);
}

void bind(Variables& v, const ConditionData& data) {
  v[Language::kOperation] = Value::of_text(data.operation);
  v[Language::kObject] = json_or_null(data.object);
  v[Language::kOldObject] = json_or_null(data.old_object);
  v[Language::kOptions] = json_or_null(data.options);
}

}  // namespace cardea::authz::access
