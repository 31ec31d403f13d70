#include "cel/policy.h"

#include <algorithm>

#include "base/strings.h"
#include "cel/environments.h"

namespace cardea::cel {
namespace {

constexpr std::string_view kVariables = "kubernetes.variables";

// The type of a variable for later expressions: simple types, lists and maps; all others are dyn.
std::string declared_type(const Type* type) {
  switch (type->kind) {
    case Type::kBool:
    case Type::kInt:
    case Type::kUint:
    case Type::kDouble:
    case Type::kString:
    case Type::kBytes:
    case Type::kTimestamp:
    case Type::kDuration:
    case Type::kNull:
      return type->nullable ? "dyn" : print_type(type);
    case Type::kList:
      return cat("list(", declared_type(type->params[0]), ")");
    case Type::kMap:
      return cat("map(", declared_type(type->params[0]), ", ", declared_type(type->params[1]), ")");
    default:
      return "dyn";
  }
}

// Environments without variables are the same for every policy.
std::shared_ptr<const Environment> bare(bool params, bool authorizer, bool patch) {
  static const std::shared_ptr<const Environment> kept[2][3] = {
      {admission_environment(false, false).share(), admission_environment(false, true).share(),
       mutation_environment(false).share()},
      {admission_environment(true, false).share(), admission_environment(true, true).share(),
       mutation_environment(true).share()}};
  return kept[params][patch ? 2 : authorizer ? 1 : 0];
}

}  // namespace

std::string go_type_name(const Type* type) {
  switch (type->kind) {
    case Type::kTimestamp:
      return "google.protobuf.Timestamp";
    case Type::kDuration:
      return "google.protobuf.Duration";
    case Type::kNull:
      return "null_type";
    case Type::kList:
      return cat("list(", go_type_name(type->params[0]), ")");
    case Type::kMap:
      return cat("map(", go_type_name(type->params[0]), ", ", go_type_name(type->params[1]), ")");
    case Type::kOptional:
      return cat("optional_type(", go_type_name(type->params[0]), ")");
    default:
      return print_type(type);
  }
}

std::shared_ptr<const Environment> PolicyCompiler::environment(Use use) {
  const bool sees_variables = composes_ && use != kMatch;
  if (!sees_variables && !declare_) return bare(params_, use != kMessage, use == kPatch);
  if (kept_[use]) return kept_[use];
  Environment env = use == kPatch ? mutation_environment(params_)
                                  : admission_environment(params_, use != kMessage);
  if (declare_) declare_(env);
  if (!sees_variables) return kept_[use] = std::move(env).share();
  ObjectType fields;
  fields.name = kVariables;
  for (const auto& [name, type] : variables_) {
    fields.fields[name] = env.types().parse(type);
    // With its own slot it can be computed when it is read.
    env.variable(cat("variables.", name), fields.fields[name]);
  }
  env.record(std::move(fields));
  env.variable("variables", env.types().object(kVariables));
  return kept_[use] = std::move(env).share();
}

PolicyCompiler::Outcome PolicyCompiler::compile(std::string_view expression, Use use,
                                                const std::vector<std::string>& types) {
  auto program = cel::compile(expression, environment(use));
  if (!program) return {nullptr, cat("compilation failed: ", program.error().text)};
  const std::string type = go_type_name((*program)->type());
  if (!types.empty() && std::ranges::find(types, type) == types.end())
    return {nullptr, types.size() == 1
                         ? cat("must evaluate to ", types[0], " but got ", type)
                         : cat("must evaluate to one of [", join(types, " "), "] but got ", type)};
  return {std::move(*program), ""};
}

PolicyCompiler::Outcome PolicyCompiler::variable(std::string_view name,
                                                 std::string_view expression) {
  Outcome out = compile(expression, kPlain, {});
  variables_.emplace_back(name, out.program ? declared_type(out.program->type()) : "dyn");
  std::ranges::fill(kept_, nullptr);
  return out;
}

PolicyCompiler::Outcome PolicyCompiler::expression(std::string_view e) {
  return compile(e, kPlain, {});
}
PolicyCompiler::Outcome PolicyCompiler::validation(std::string_view e) {
  return compile(e, kPlain, {"bool"});
}
PolicyCompiler::Outcome PolicyCompiler::message(std::string_view e) {
  return compile(e, kMessage, {"string"});
}
PolicyCompiler::Outcome PolicyCompiler::audit_annotation(std::string_view e) {
  return compile(e, kPlain, {"string", "null_type"});
}
PolicyCompiler::Outcome PolicyCompiler::match_condition(std::string_view e) {
  return compile(e, kMatch, {"bool"});
}
PolicyCompiler::Outcome PolicyCompiler::apply_configuration(std::string_view e) {
  return compile(e, kPatch, {"Object"});
}
PolicyCompiler::Outcome PolicyCompiler::json_patch(std::string_view e) {
  return compile(e, kPatch, {"list(JSONPatch)"});
}

}  // namespace cardea::cel
