#include <re2/re2.h>

#include <cstdio>

#include "base/strings.h"
#include "cel/authorizer.h"
#include "cel/check/schema_types.h"
#include "cel/conform/conform.h"
#include "cel/conform/values.h"
#include "cel/environments.h"
#include "cel/eval/evaluate.h"
#include "cel/syntax/print.h"
#include "json/patch.h"
#include "json/patch_error.h"

namespace cardea::cel::conform {
namespace {

using cel::Value;

std::string text_of(const json::Value& v) {
  return std::string(v.as_string());
}

// Allows a check that equals the record of the case, and otherwise answers as the case says.
class FakeAuthorizer : public cel::AuthorizerInterface {
 public:
  explicit FakeAuthorizer(const json::Value& spec) : spec_(spec) {}
  cel::AuthorizationAnswer check(const cel::AuthorizationQuery& q) override {
    const json::Value& want = spec_["allow_if_attributes_equal"];
    auto same = [&](std::string_view key, std::string_view got) {
      return want[key].as_string() == got;
    };
    const bool equal = want["ResourceRequest"].as_bool() == q.resource_request &&
                       same("Path", q.path) && same("Verb", q.verb) && same("APIGroup", q.group) &&
                       same("Resource", q.resource) && same("Subresource", q.subresource) &&
                       same("Namespace", q.space) && same("Name", q.name) && same_user(want, q) &&
                       same_selectors(want, q);
    cel::AuthorizationAnswer out;
    if (equal && want.is_object()) {
      out.decision = cel::AuthorizationAnswer::kAllow;
      return out;
    }
    const json::Value& other = spec_["otherwise"];
    const std::string_view decision = other["decision"].as_string();
    out.decision = decision == "Allow"       ? cel::AuthorizationAnswer::kAllow
                   : decision == "NoOpinion" ? cel::AuthorizationAnswer::kNoOpinion
                                             : cel::AuthorizationAnswer::kDeny;
    out.reason = other["reason"].as_string();
    out.error = other["error"].as_string();
    return out;
  }

 private:
  static bool same_user(const json::Value& want, const cel::AuthorizationQuery& q) {
    const std::string_view name = want["User"]["Name"].as_string();
    if (!name.starts_with("system:serviceaccount:")) return q.service_account_name.empty();
    return name ==
           cat("system:serviceaccount:", q.service_account_namespace, ":", q.service_account_name);
  }
  static bool same_selectors(const json::Value& want, const cel::AuthorizationQuery& q) {
    std::string fields;
    for (const json::Value& r : want["FieldSelectorRequirements"].items())
      fields += cat(fields.empty() ? "" : ",", r["Field"].as_string(), r["Operator"].as_string(),
                    r["Value"].as_string());
    std::string labels;
    for (const json::Value& r : want["LabelSelectorRequirements"].items())
      labels += cat(labels.empty() ? "" : ",", r["Key"].as_string(), r["Operator"].as_string(),
                    r["Values"][0].as_string());
    const bool field_error = want.has("FieldSelectorParsingErr") ||
                             !want["FieldSelectorParsingErr"].is_null();
    const bool label_error = want.has("LabelSelectorParsingErr") ||
                             !want["LabelSelectorParsingErr"].is_null();
    return (field_error || fields == q.field_selector) &&
           (label_error || labels == q.label_selector);
  }
  const json::Value& spec_;
};

cel::Environment environment_of(const json::Value& c) {
  const std::string_view lib = c["lib"].as_string();
  if (lib == "authz" && !c.has("env")) return cel::admission_environment();
  if (lib == "jsonpatch") return cel::mutation_environment();
  const bool newest = lib == "lists" && c["lib_version"].as_int() == 1;
  cel::Environment env = cel::kubernetes_environment(newest ? 37 : 36);
  return env;
}

bool text_matches(const json::Value& c, std::string_view key, std::string_view got) {
  const std::string wanted = text_of(c[key]);
  const std::string_view how = c["match"].as_string();
  if (how == "regex") return RE2::PartialMatch(std::string(got), wanted);
  if (how == "exact") return got == wanted;
  // The text that the caller of the compiler puts before its message.
  std::string_view core = wanted;
  for (const std::string_view prefix : {"compile error: ", "compilation failed: "})
    if (core.starts_with(prefix)) core.remove_prefix(prefix.size());
  return got.find(core) != std::string_view::npos;
}

struct Reporter {
  const json::Value& c;
  bool fail(std::string_view what) const {
    std::printf("%s\n", one_line(cat(c["lib"].as_string(), "/", c["name"].as_string(), ": ", what,
                                     ": ", c["expr"].as_string()))
                            .c_str());
    return false;
  }
};

// The original of a case is a Deployment: its metadata and template are present even if empty.
json::Value original(const json::Value& c) {
  json::Value object = c["object"];
  if (object["metadata"].is_null()) object.set("metadata", json::Value::object());
  json::Value& spec = object.member("spec");
  if (!spec.has("template"))
    spec.set("template", json::Value::object({{"spec", json::Value::object()}}));
  return object;
}

// The object after the patch, as a policy applies it: a test that fails leaves it as it was.
Result<json::Value> patched(const json::Value& c, const json::Value& patch) {
  json::Value object = original(c);
  for (const json::Value& op : patch.items()) {
    auto next = json::apply_json_patch(object, json::Value::array({op}));
    if (!next && op["op"].as_string() == "test") return original(c);
    if (!next) return fail(bad_request(cat("JSON Patch: ", json::patch_error(object, op))));
    object = std::move(*next);
  }
  return object;
}

bool check_patch(const Reporter& report, const json::Value& c, const Value& result) {
  json::Value patch;
  if (result.is_error()) return report.fail(cat("error ", result.error->message));
  if (!cel::to_json(result, patch)) return report.fail("the patch has no JSON form");
  const auto after = patched(c, patch);
  if (c.has("error"))
    return !after && text_matches(c, "error", after.error().message)
               ? true
               : report.fail(cat(after ? "applies" : after.error().message, ", expected ",
                                 text_of(c["error"])));
  if (!after) return report.fail(after.error().message);
  const json::Value& wanted = c["expected_object_after_patch"];
  json::Value got = *after;
  if (got["metadata"].empty() && !wanted.has("metadata")) got.erase("metadata");
  if (got["spec"]["template"]["spec"].empty() && !wanted["spec"].has("template"))
    got.member("spec").erase("template");
  if (got["spec"].empty() && !wanted.has("spec")) got.erase("spec");
  return got == wanted ? true : report.fail("another object after the patch");
}

bool run_case(const json::Value& c) {
  const Reporter report{c};
  if (c["expected"]["skipped"].as_bool() && !c.has("old_self"))
    return true;  // a transition rule without an old value does not run
  cel::Environment made = environment_of(c);
  const bool root = c["is_root"].as_bool();
  if (c.has("schema")) {
    const cel::Type* self = cel::declare_schema(made, "selfType", c["schema"], root);
    made.variable("self", self != nullptr ? self : made.types().dyn());
    made.variable("oldSelf", self != nullptr ? self : made.types().dyn());
  }
  const auto env = std::move(made).share();
  const auto program = cel::compile(c["expr"].as_string(), env);
  if (!program.has_value()) {
    if (!c.has("compile_error")) return report.fail(program.error().text);
    return text_matches(c, "compile_error", program.error().text)
               ? true
               : report.fail(cat("says ", program.error().text, ", expected ",
                                 text_of(c["compile_error"])));
  }
  if (c.has("compile_error"))
    return report.fail(cat("compiles, expected ", text_of(c["compile_error"])));
  cel::Arena arena;
  cel::Frame frame(arena);
  std::vector<Value> slots(env->variables().size());
  auto set = [&](std::string_view name, const Value& v) {
    if (const cel::Variable* variable = env->find_variable(name)) slots[variable->slot] = v;
  };
  if (c.has("schema")) set("self", cel::typed_value(frame, c["self"], c["schema"], root));
  if (c.has("old_self")) set("oldSelf", cel::typed_value(frame, c["old_self"], c["schema"], root));
  if (c.has("object")) set("object", Value::of_json(c["object"]));
  FakeAuthorizer authorizer(c["authorizer"]);
  cel::AuthorizerHandle handle{&authorizer, {}};
  cel::AuthorizerHandle resource{&authorizer, {}};
  const json::Value& r = c["request_resource"];
  resource.query.group = r["group"].as_string();
  resource.query.resource = r["resource"].as_string();
  resource.query.subresource = r["subresource"].as_string();
  resource.query.space = r["namespace"].as_string();
  resource.query.name = r["name"].as_string();
  set("authorizer", cel::authorizer_value(handle));
  set("authorizer.requestResource", cel::resource_check_value(resource));
  cel::Evaluation evaluation;
  const Value result = evaluation.run(**program, slots);
  if (c.has("expected_object_after_patch") || (c.has("object") && !result.is_error()))
    return check_patch(report, c, result);
  if (c.has("error")) {
    if (!result.is_error())
      return report.fail(cat("gives ", cel::print_value(result), ", expected an error"));
    return text_matches(c, "error", result.error->message)
               ? true
               : report.fail(
                     cat("says ", result.error->message, ", expected ", text_of(c["error"])));
  }
  Value wanted;
  if (!read_value(arena, c["expected"], wanted))
    return report.fail("cannot read the expected value");
  if (!same_value(wanted, result))
    return report.fail(
        cat("expected ", cel::print_value(wanted), ", got ", cel::print_value(result)));
  if (c.has("expected_cost") &&
      static_cast<std::uint64_t>(c["expected_cost"].as_int()) != evaluation.cost())
    return report.fail(cat("cost ", evaluation.cost(), ", expected ", c["expected_cost"].as_int()));
  return true;
}

}  // namespace

Counts run_library_cases(const Cases& cases) {
  Counts counts;
  for (const json::Value& c : cases) {
    // Decoding of the patched object is not part of the language.
    if (text_of(c["error"]).starts_with("strict decoding error"))
      ++counts.skipped;
    else
      counts.check(run_case(c));
  }
  return counts;
}

}  // namespace cardea::cel::conform
