#include <algorithm>
#include <set>

#include "catalog/kinds/admissionregistration/admission_rules.h"
#include "catalog/kinds/label_selector.h"
#include "catalog/kinds/object_meta.h"
#include "catalog/kinds/strategies.h"
#include "cel/policy.h"

namespace cardea::catalog {
namespace {

constexpr int kMostAuditAnnotations = 20;
constexpr std::size_t kLongestValueExpression = 5 * 1024;

void policy_defaults(Value& object, const StrategyContext&) {
  Value& spec = object_member(object, "spec");
  set_default(spec, "failurePolicy", "Fail");
  if (spec["matchConstraints"].is_object())
    default_match_resources(spec.member("matchConstraints"));
}

void binding_defaults(Value& object, const StrategyContext&) {
  if (object["spec"]["matchResources"].is_object())
    default_match_resources(object.member("spec").member("matchResources"));
}

bool is_cel_identifier(std::string_view text) {
  constexpr std::string_view kReserved[] = {
      "as",       "break",   "const",  "continue", "else", "false", "for",
      "function", "if",      "import", "in",       "let",  "loop",  "namespace",
      "null",     "package", "return", "true",     "var",  "void",  "while"};
  return c_identifier(text).empty() && std::ranges::find(kReserved, text) == std::end(kReserved);
}

void validate_constraints(const Value& spec, FieldErrors& out) {
  const Value& match = spec["matchConstraints"];
  if (match.is_null()) {
    out.push_back(json::required("spec.matchConstraints"));
    return;
  }
  validate_match_resources(match, "spec.matchConstraints", out);
  if (match["resourceRules"].empty())
    out.push_back(json::required("spec.matchConstraints.resourceRules"));
}

void validate_param_kind(const Value& kind, FieldErrors& out) {
  if (kind.is_null()) return;
  Path path = "spec.paramKind";
  std::string_view version = kind["apiVersion"].as_string(), name = kind["kind"].as_string();
  if (version.empty()) {
    out.push_back(json::required(path / "apiVersion"));
  } else {
    auto parts = split(version, '/');
    if (parts.size() > 2) {
      out.push_back(json::invalid(path / "apiVersion", version,
                                  cat("unexpected GroupVersion string: ", version)));
    } else {
      if (parts.size() == 2)
        complain(path / "apiVersion", parts[0], dns1123_subdomain(parts[0]), out);
      complain(path / "apiVersion", parts.back(), dns1035_label(parts.back()), out);
    }
  }
  if (name.empty()) {
    out.push_back(json::required(path / "kind"));
  } else {
    for (const std::string& complaint : dns1035_label(lower(name)))
      out.push_back(
          json::invalid(path / "kind", name,
                        cat("may have mixed case, but should otherwise match: ", complaint)));
  }
}

void validate_variables(const Value& variables, cel::PolicyCompiler& compiler, FieldErrors& out) {
  for (std::size_t i = 0; i < variables.size(); ++i) {
    Path at = Path("spec.variables").index(i);
    std::string_view name = variables[i]["name"].as_string();
    if (name.empty())
      out.push_back(json::required(at / "name", "name is not specified"));
    else if (!is_cel_identifier(name))
      out.push_back(json::invalid(at / "name", name, "must be a valid CEL identifier"));
    const Value& expression = variables[i]["expression"];
    if (trim(expression.as_string()).empty())
      out.push_back(json::required(at / "expression", "expression is not specified"));
    else
      report_expression(at / "expression", expression,
                        compiler.variable(name, expression.as_string()).error, out);
  }
}

void validate_validation(const Path& path, const Value& validation, cel::PolicyCompiler& compiler,
                         FieldErrors& out) {
  std::string_view expression = trim(validation["expression"].as_string());
  std::string_view message = trim(validation["message"].as_string());
  std::string_view computed = trim(validation["messageExpression"].as_string());
  if (expression.empty()) {
    out.push_back(json::required(path / "expression", "expression is not specified"));
  } else {
    const Value& written = validation["expression"];
    report_expression(path / "expression", written, compiler.validation(written.as_string()).error,
                      out);
  }
  auto has_line_break = [](std::string_view text) {
    return text.find_first_of("\n\r") != text.npos;
  };
  if (!validation["messageExpression"].as_string().empty() && computed.empty())
    out.push_back(json::invalid(path / "messageExpression", validation["messageExpression"],
                                "must be non-empty if specified"));
  else if (!computed.empty())
    report_expression(path / "messageExpression", validation["messageExpression"],
                      compiler.message(validation["messageExpression"].as_string()).error, out);
  if (!validation["message"].as_string().empty() && message.empty())
    out.push_back(
        json::invalid(path / "message", validation["message"], "must be non-empty if specified"));
  else if (has_line_break(message))
    out.push_back(
        json::invalid(path / "message", validation["message"], "must not contain line breaks"));
  const Value& reason = validation["reason"];
  if (!reason.is_null())
    check_one_of(path / "reason", reason, {"Forbidden", "Invalid", "RequestEntityTooLarge"}, out);
}

void validate_audit_annotation(const Path& path, std::string_view policy, const Value& annotation,
                               cel::PolicyCompiler& compiler, FieldErrors& out) {
  std::string_view key = annotation["key"].as_string();
  complain(path / "key", cat(policy, "/", key), qualified_name(cat(policy, "/", key)), out);
  const Value& expression = annotation["valueExpression"];
  std::string_view text = trim(expression.as_string());
  if (text.empty())
    out.push_back(json::required(path / "valueExpression", "valueExpression is not specified"));
  else if (text.size() > kLongestValueExpression)
    out.push_back(
        json::required(path / "valueExpression",
                       cat("must not exceed ", kLongestValueExpression, " bytes in length")));
  else
    report_expression(path / "valueExpression", expression, compiler.audit_annotation(text).error,
                      out);
}

Shown shown_annotations(const Value& annotations) {
  std::string out;
  for (const Value& a : annotations.items())
    out += cat(out.empty() ? "" : ",",
               shown_struct({{"Key", shown_or(a["key"], "")},
                             {"ValueExpression", shown_or(a["valueExpression"], "")}}));
  return cat("[", out, "]");
}

void validate_validations(const Value& object, cel::PolicyCompiler& compiler, FieldErrors& out) {
  const Value& spec = object["spec"];
  const Value& validations = spec["validations"];
  const Value& annotations = spec["auditAnnotations"];
  if (validations.empty() && annotations.empty())
    for (std::string_view name : {"validations", "auditAnnotations"})
      out.push_back(json::required(
          Path("spec") / name, "validations or auditAnnotations must contain at least one item"));
  for (std::size_t i = 0; i < validations.size(); ++i)
    validate_validation(Path("spec.validations").index(i), validations[i], compiler, out);
  if (annotations.size() > static_cast<std::size_t>(kMostAuditAnnotations))
    out.push_back(
        invalid_shown("spec.auditAnnotations", shown_annotations(annotations),
                      cat("must not have more than ", kMostAuditAnnotations, " auditAnnotations")));
  std::set<std::string_view> keys;
  for (std::size_t i = 0; i < annotations.size(); ++i) {
    Path at = Path("spec.auditAnnotations").index(i);
    validate_audit_annotation(at, object["metadata"]["name"].as_string(), annotations[i], compiler,
                              out);
    if (!keys.insert(annotations[i]["key"].as_string()).second)
      out.push_back(json::duplicate(at / "key", annotations[i]["key"]));
  }
}

void validate_common(const Value& spec, FieldErrors& out) {
  if (!spec["failurePolicy"].is_null())
    check_one_of("spec.failurePolicy", spec["failurePolicy"], {"Fail", "Ignore"}, out);
}

void validate_policy_spec(const Value& object, FieldErrors& out) {
  const Value& spec = object["spec"];
  validate_common(spec, out);
  validate_param_kind(spec["paramKind"], out);
  validate_constraints(spec, out);
  const bool params = !spec["paramKind"].is_null();
  validate_match_conditions(spec["matchConditions"], "spec.matchConditions", params, out);
  cel::PolicyCompiler compiler(params, !spec["variables"].empty());
  validate_variables(spec["variables"], compiler, out);
  validate_validations(object, compiler, out);
}

FieldErrors validate_policy(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, false, name_is_dns_subdomain, out);
  validate_policy_spec(object, out);
  return out;
}

FieldErrors validate_policy_update(const Value& object, const Value& old, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  validate_policy_spec(object, out);
  return out;
}

FieldErrors validate_policy_status(const Value& object, const Value& old, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  const Value& warnings = object["status"]["typeChecking"]["expressionWarnings"];
  for (std::size_t i = 0; i < warnings.size(); ++i) {
    Path at = Path("status.typeChecking.expressionWarnings").index(i);
    for (std::string_view name : {"warning", "fieldRef"})
      if (warnings[i][name].as_string().empty()) out.push_back(json::required(at / name));
  }
  check_conditions("status.conditions", object["status"]["conditions"], out);
  return out;
}

// Mutating policies

void validate_mutation(const Path& path, const Value& mutation, cel::PolicyCompiler& compiler,
                       FieldErrors& out) {
  std::string_view type = mutation["patchType"].as_string();
  if (type.empty()) {
    out.push_back(json::required(path / "patchType"));
    return;
  }
  if (type != "ApplyConfiguration" && type != "JSONPatch") {
    out.push_back(
        json::not_supported(path / "patchType", type, {"ApplyConfiguration", "JSONPatch"}));
    return;
  }
  bool applies = type == "ApplyConfiguration";
  std::string_view wanted = applies ? "applyConfiguration" : "jsonPatch",
                   other = applies ? "jsonPatch" : "applyConfiguration";
  if (mutation[wanted].is_null())
    out.push_back(json::required(path / wanted, cat("must be specified when patchType is ", type)));
  else if (std::string_view text = trim(mutation[wanted]["expression"].as_string()); text.empty())
    out.push_back(json::required(path / wanted / "expression"));
  else
    report_expression(
        path / wanted / "expression", text,
        applies ? compiler.apply_configuration(text).error : compiler.json_patch(text).error, out);
  if (!mutation[other].is_null())
    out.push_back(json::invalid(path / other, cat("{", other, "}"),
                                cat("must not be specified when patchType is ", type)));
}

void validate_mutating_operations(const Value& match, FieldErrors& out) {
  for (const Value& rule : match["resourceRules"].items())
    for (const Value& operation : rule["operations"].items())
      if (operation.as_string() == "DELETE")
        out.push_back(json::not_supported("spec.matchConstraints.resourceRules.operations",
                                          operation, {"*", "CONNECT", "CREATE", "UPDATE"}));
}

void validate_mutating_spec(const Value& spec, FieldErrors& out) {
  validate_common(spec, out);
  validate_param_kind(spec["paramKind"], out);
  validate_constraints(spec, out);
  validate_mutating_operations(spec["matchConstraints"], out);
  const bool params = !spec["paramKind"].is_null();
  validate_match_conditions(spec["matchConditions"], "spec.matchConditions", params, out);
  cel::PolicyCompiler compiler(params, true);
  validate_variables(spec["variables"], compiler, out);
  if (spec["mutations"].empty())
    out.push_back(json::required("spec.mutations", "mutations must contain at least one item"));
  for (std::size_t i = 0; i < spec["mutations"].size(); ++i)
    validate_mutation(Path("spec.mutations").index(i), spec["mutations"][i], compiler, out);
  const Value& reinvocation = spec["reinvocationPolicy"];
  if (reinvocation.as_string().empty())
    out.push_back(json::required("spec.reinvocationPolicy"));
  else
    check_one_of("spec.reinvocationPolicy", reinvocation, {"IfNeeded", "Never"}, out);
}

FieldErrors validate_mutating(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, false, name_is_dns_subdomain, out);
  validate_mutating_spec(object["spec"], out);
  return out;
}

FieldErrors validate_mutating_update(const Value& object, const Value& old,
                                     const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  validate_mutating_spec(object["spec"], out);
  return out;
}

// Bindings

void validate_param_ref(const Value& ref, FieldErrors& out) {
  if (ref.is_null()) return;
  Path path = "spec.paramRef";
  bool named = !ref["name"].as_string().empty(), selects = !ref["selector"].is_null();
  if (named && selects)
    for (std::string_view name : {"name", "selector"})
      out.push_back(json::forbidden(path / name, "name and selector are mutually exclusive"));
  else if (named)
    complain(path / "name", ref["name"], name_is_path_segment(ref["name"].as_string(), false), out);
  else if (selects)
    validate_label_selector(ref["selector"], path / "selector", out);
  else
    out.push_back(json::required(path, "one of name or selector must be specified"));
  const Value& action = ref["parameterNotFoundAction"];
  if (action.as_string().empty())
    out.push_back(json::required(path / "parameterNotFoundAction"));
  else
    check_one_of(path / "parameterNotFoundAction", action, {"Deny", "Allow"}, out);
}

void validate_actions(const Value& actions, FieldErrors& out) {
  Path path = "spec.validationActions";
  if (actions.empty())
    out.push_back(json::required(path, "at least one validation action is required"));
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < actions.size(); ++i) {
    check_one_of(path.index(i), actions[i], {"Audit", "Deny", "Warn"}, out);
    if (!seen.insert(actions[i].as_string()).second)
      out.push_back(json::duplicate(path.index(i), actions[i]));
  }
  if (seen.contains("Deny") && seen.contains("Warn"))
    out.push_back(json::invalid(path, actions,
                                "must not contain both Deny and Warn (repeating the same "
                                "validation failure information in the "
                                "API response and headers serves no purpose)"));
}

template <bool kMutating>
void validate_binding_spec(const Value& spec, FieldErrors& out) {
  std::string_view policy = spec["policyName"].as_string();
  if (policy.empty())
    out.push_back(json::required("spec.policyName"));
  else
    complain("spec.policyName", policy, name_is_dns_subdomain(policy, false), out);
  validate_param_ref(spec["paramRef"], out);
  if (!spec["matchResources"].is_null())
    validate_match_resources(spec["matchResources"], "spec.matchResources", out);
  if (!kMutating) validate_actions(spec["validationActions"], out);
}

template <bool kMutating>
FieldErrors validate_binding(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, false, name_is_dns_subdomain, out);
  validate_binding_spec<kMutating>(object["spec"], out);
  return out;
}

template <bool kMutating>
FieldErrors validate_binding_update(const Value& object, const Value& old, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  validate_binding_spec<kMutating>(object["spec"], out);
  return out;
}

template <bool kMutating>
const Strategy& binding() {
  static const Strategy strategy{
      .defaults = binding_defaults,
      .validate_create = validate_binding<kMutating>,
      .validate_update = validate_binding_update<kMutating>,
      .has_generation = true,
      .allow_unconditional_update = false,
  };
  return strategy;
}

}  // namespace

const Strategy& validating_admission_policy_strategy() {
  static const Strategy strategy{
      .defaults = policy_defaults,
      .prepare_for_create = drop_status,
      .prepare_for_update = keep_status,
      .validate_create = validate_policy,
      .validate_update = validate_policy_update,
      .prepare_for_status_update = keep_spec,
      .validate_status_update = validate_policy_status,
      .has_generation = true,
      .allow_unconditional_update = false,
  };
  return strategy;
}

const Strategy& mutating_admission_policy_strategy() {
  static const Strategy strategy{
      .defaults = policy_defaults,
      .validate_create = validate_mutating,
      .validate_update = validate_mutating_update,
      .has_generation = true,
      .allow_unconditional_update = false,
  };
  return strategy;
}

const Strategy& validating_admission_policy_binding_strategy() {
  return binding<false>();
}
const Strategy& mutating_admission_policy_binding_strategy() {
  return binding<true>();
}

}  // namespace cardea::catalog
