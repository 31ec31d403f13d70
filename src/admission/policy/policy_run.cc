#include "admission/policy/policy_run.h"

#include "authz/user_info.h"
#include "base/strings.h"
#include "catalog/convert.h"
#include "schema/wire/decode.h"

namespace cardea::admission {
namespace {

using json::Value;

void set_unless_empty(Value& object, std::string_view key, std::string_view text) {
  if (!text.empty()) object.set(key, text);
}

Value kind_of(const catalog::Resource& r, std::string_view subresource) {
  std::string group = r.group, version = r.version, kind = r.kind;
  if (const catalog::Subresource* sub = r.subresource(subresource);
      sub && !subresource.empty() && !sub->kind.empty() && sub->kind != kind) {
    group = sub->group.empty() && sub->version.empty() ? r.group : sub->group;
    version = sub->version.empty() ? r.version : sub->version;
    kind = sub->kind;
  }
  return Value::object({{"group", group}, {"version", version}, {"kind", kind}});
}

Value resource_of(const catalog::Resource& r) {
  return Value::object({{"group", r.group}, {"version", r.version}, {"resource", r.name}});
}

Value request_of(const Review& r, const catalog::Resource& as) {
  Value out = Value::object({{"kind", kind_of(as, r.subresource)},
                             {"resource", resource_of(as)},
                             {"requestKind", kind_of(r.resource, r.subresource)},
                             {"requestResource", resource_of(r.resource)},
                             {"operation", operation_name(r.operation)},
                             {"userInfo", authz::user_info(r.user)},
                             {"dryRun", r.dry_run}});
  set_unless_empty(out, "subResource", r.subresource);
  set_unless_empty(out, "requestSubResource", r.subresource);
  set_unless_empty(out, "name", r.name);
  // A namespace lies in itself.
  const bool is_new_namespace = r.namespace_name.empty() && r.resource.group.empty() &&
                                r.resource.name == "namespaces";
  set_unless_empty(out, "namespace", is_new_namespace ? r.name : r.namespace_name);
  if (!r.options.is_null()) out.set("options", r.options);
  return out;
}

// Of a namespace policies see no owners and no managers.
Value shown_namespace(const Value& ns) {
  Value out = Value::object();
  for (const char* key : {"spec", "status"})
    if (const Value* v = ns.find(key)) out.set(key, *v);
  for (const char* key : {"name", "generateName", "namespace", "uid", "resourceVersion",
                          "generation", "creationTimestamp", "deletionTimestamp",
                          "deletionGracePeriodSeconds", "labels", "annotations", "finalizers"})
    if (const Value* v = ns["metadata"].find(key)) out.member("metadata").set(key, *v);
  return out;
}

Value in_version(const Value& object, const Review& r, const catalog::Resource& as) {
  // A subresource that shows something else is the same in every version.
  const bool is_own = object["kind"].as_string() == r.resource.kind &&
                      object["apiVersion"].as_string() == r.resource.api_version();
  if (&as == &r.resource || !is_own) return object;
  return as.is_converted_by_webhook
             ? r.by_webhook(object, as)
             : schema::normalize(*as.schema, catalog::convert(object, r.resource, as));
}

}  // namespace

PolicyInput PolicyInput::of(const Review& r, const catalog::Resource& as, const Objects& objects) {
  PolicyInput out;
  out.object = in_version(r.object, r, as);
  if (r.old_object != nullptr) out.old_object = in_version(*r.old_object, r, as);
  out.request = request_of(r, as);
  const bool is_namespace = r.resource.group.empty() && r.resource.name == "namespaces";
  if (!r.namespace_name.empty() && !is_namespace)
    if (const store::RecordPtr record = objects.find(r.catalog, "", "namespaces", "",
                                                     r.namespace_name))
      out.namespace_object = shown_namespace(parsed(*record));
  return out;
}

// One of a policy's variables, computed when first read.
class PolicyRun::Variable : public cel::Lazy {
 public:
  Variable(PolicyRun& run, const PolicyExpressions::Variable& source)
      : run_(run), source_(source), evaluation_({.cost = kCallLimit}) {}

  cel::Value force() override {
    if (done_) return value_;
    done_ = true;
    const PolicyExpression& e = source_.expression;
    if (e.program == nullptr) return value_ = wrong("compile", e.error);
    const std::vector<cel::Value> slots = run_.slots(e.program->environment(), true);
    const cel::Value result = evaluation_.run(*e.program, slots);
    run_.composed_cost_ += static_cast<std::int64_t>(
        std::min<std::uint64_t>(evaluation_.cost(), kCallLimit * 2));
    return value_ = result.is_error() ? wrong("evaluate", result.error->message) : result;
  }
  const std::string& name() const { return source_.name; }

 private:
  cel::Value wrong(std::string_view what, std::string_view why) {
    message_ = cat("composited variable ", quoted(source_.name), " fails to ", what, ": ", why);
    error_.message = message_;
    return cel::Value::of_error(&error_);
  }

  PolicyRun& run_;
  const PolicyExpressions::Variable& source_;
  cel::Evaluation evaluation_;
  bool done_ = false;
  cel::Value value_;
  std::string message_;
  cel::ErrorNode error_;
};

PolicyRun::PolicyRun(const Policy& policy, const PolicyInput& input, const Review& review,
                     const Value* params, authz::SecondaryChecks& authorizer)
    : policy_(policy), input_(input), params_(params), evaluation_({.cost = kCallLimit}) {
  authorizer_.asks = request_resource_.asks = &authorizer;
  cel::AuthorizationQuery& q = request_resource_.query;
  q.group = review.resource.group;
  q.resource = review.resource.name;
  q.subresource = review.subresource;
  q.space = review.namespace_name;
  q.name = review.name;
  variable_names_ = Value::object();
  for (const PolicyExpressions::Variable& v : policy.expressions().variables) {
    variables_.push_back(std::make_unique<Variable>(*this, v));
    variable_names_.set(v.name, true);
  }
}
PolicyRun::~PolicyRun() = default;

std::vector<cel::Value> PolicyRun::slots(const cel::Environment& environment, bool sees_namespace) {
  std::vector<cel::Value> out(environment.variables().size());
  for (const cel::Variable& v : environment.variables()) {
    cel::Value& slot = out[v.slot];
    if (v.name == "object")
      slot = cel::Value::of_json(input_.object);
    else if (v.name == "oldObject")
      slot = cel::Value::of_json(input_.old_object);
    else if (v.name == "request")
      slot = cel::Value::of_json(input_.request);
    else if (v.name == "namespaceObject")
      slot = sees_namespace ? cel::Value::of_json(input_.namespace_object) : cel::Value::null();
    else if (v.name == "params")
      slot = params_ != nullptr ? cel::Value::of_json(*params_) : cel::Value::null();
    else if (v.name == "authorizer")
      slot = cel::authorizer_value(authorizer_);
    else if (v.name == "authorizer.requestResource")
      slot = cel::resource_check_value(request_resource_);
    else if (v.name == "variables")
      slot = cel::Value::of_json(variable_names_);
    else
      for (const auto& variable : variables_)
        if (v.name.substr(v.name.find('.') + 1) == variable->name())
          slot = cel::Value::of_lazy(variable.get());
  }
  return out;
}

PolicyRun::Outcome PolicyRun::evaluate(const PolicyExpression& e, std::int64_t& budget,
                                       bool sees_namespace) {
  if (e.program == nullptr) return {{}, cat("compilation error: ", e.error), false};
  const std::vector<cel::Value> values = slots(e.program->environment(), sees_namespace);
  composed_cost_ = 0;
  const cel::Value result = evaluation_.run(*e.program, values);
  const std::int64_t cost = composed_cost_ + static_cast<std::int64_t>(std::min<std::uint64_t>(
                                                 evaluation_.cost(), kCallLimit * 2));
  if (cost > budget) {
    budget = -1;
    return {{},
            "validation failed due to running out of cost budget, no further validation rules will "
            "be run",
            true};
  }
  budget -= cost;
  if (result.is_error())
    return {{}, cat("expression '", e.text, "' resulted in error: ", result.error->message), false};
  return {result, "", false};
}

Result<bool> PolicyRun::matches() {
  std::int64_t budget = kMatchBudget;
  std::vector<std::string> errors;
  for (const PolicyExpression& condition : policy_.expressions().match_conditions) {
    const Outcome outcome = evaluate(condition, budget, false);
    if (outcome.out_of_budget) {
      if (policy_.fails_closed()) return fail(Error::of(Reason::kInvalid, outcome.error));
      return false;
    }
    if (!outcome.error.empty())
      errors.push_back(outcome.error);
    else if (outcome.value.is_false())
      return false;
  }
  if (errors.empty()) return true;
  // Some are true and some cannot be evaluated: the failure policy decides.
  if (!policy_.fails_closed()) return false;
  return fail(Error::of(Reason::kInvalid,
                        errors.size() == 1 ? errors[0] : cat("[", join(errors, ", "), "]")));
}

}  // namespace cardea::admission
