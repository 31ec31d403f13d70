#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cel/program.h"

namespace cardea::cel {

// Compiles the expressions of one admission policy or webhook. Variables are added in their order:
// each one can use those before it, and every later expression can use it as `variables.name`, with
// its type.
//
// Environments declare different variables, so slots are found by name
// (Environment::find_variable).
class PolicyCompiler {
 public:
  // `params`: the policy has a paramKind. `composes`: `variables` is declared from the start, even
  // before it has fields. `declare` may give the variables of each environment other types than
  // `dyn`.
  PolicyCompiler(bool params, bool composes, std::function<void(Environment&)> declare = nullptr)
      : params_(params), composes_(composes), declare_(std::move(declare)) {}

  struct Outcome {
    std::shared_ptr<const Program> program;  // null when it did not compile
    std::string error;                       // the reason, in Kubernetes' words
  };
  Outcome variable(std::string_view name, std::string_view expression);
  Outcome expression(std::string_view expression);           // of any type
  Outcome validation(std::string_view expression);           // bool
  Outcome message(std::string_view expression);              // string; may not ask the authorizer
  Outcome audit_annotation(std::string_view expression);     // string or null
  Outcome match_condition(std::string_view expression);      // bool; sees no variables
  Outcome apply_configuration(std::string_view expression);  // Object{...}
  Outcome json_patch(std::string_view expression);           // list of JSONPatch{...}

 private:
  enum Use { kPlain, kMessage, kPatch, kMatch };
  std::shared_ptr<const Environment> environment(Use use);
  Outcome compile(std::string_view expression, Use use, const std::vector<std::string>& types);

  bool params_, composes_;
  std::function<void(Environment&)> declare_;
  std::vector<std::pair<std::string, std::string>> variables_;  // name and type, as TypePool::parse
                                                                // reads it
  std::shared_ptr<const Environment> kept_[4];                  // until the next variable
};

// A type as Go prints it in messages about results: google.protobuf.Timestamp, null_type.
std::string go_type_name(const Type* type);

}  // namespace cardea::cel
