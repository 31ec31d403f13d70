#pragma once
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/strings.h"
#include "cel/program.h"
#include "json/value.h"

namespace cardea::admission {

// One expression of a policy: its program, or why there is none.
struct PolicyExpression {
  std::string text;
  std::shared_ptr<const cel::Program> program;
  std::string error;
};

struct PolicyExpressions {
  std::vector<PolicyExpression> match_conditions;
  struct Variable {
    std::string name;
    PolicyExpression expression;
  };
  std::vector<Variable> variables;
  struct Validation {
    PolicyExpression expression, message;  // an empty message text: none was written
    json::Value source;
  };
  std::vector<Validation> validations;
  struct Annotation {
    std::string key;
    PolicyExpression value;
  };
  std::vector<Annotation> annotations;
  struct Mutation {
    bool is_json_patch = false;
    PolicyExpression expression;
  };
  std::vector<Mutation> mutations;
};

struct PolicyBinding {
  std::string name;
  json::Value spec;
};

// A ValidatingAdmissionPolicy or MutatingAdmissionPolicy. It is compiled when it first matches
// a request, so writing and loading policies costs only the reading.
class Policy {
 public:
  Policy(std::string name, json::Value spec, bool is_mutating)
      : name(std::move(name)), spec(std::move(spec)), is_mutating(is_mutating) {}
  const PolicyExpressions& expressions() const;
  bool fails_closed() const { return spec["failurePolicy"].as_string() != "Ignore"; }

  const std::string name;
  const json::Value spec;
  const bool is_mutating;

 private:
  mutable std::once_flag once_;
  mutable std::unique_ptr<const PolicyExpressions> expressions_;
};

struct BoundPolicy {
  std::shared_ptr<const Policy> policy;
  std::vector<std::shared_ptr<const PolicyBinding>> bindings;  // by name; never empty
};

// All policies that are bound, at one moment. Immutable.
class PolicySet {
 public:
  using Policies = std::unordered_map<std::string, std::shared_ptr<const Policy>>;
  using Bindings = std::unordered_map<std::string, std::shared_ptr<const PolicyBinding>>;
  PolicySet(const Policies& policies, const Bindings& bindings);

  // The policies that may be about this resource (its plural name), by name; all others cost
  // nothing.
  std::span<const BoundPolicy* const> about(std::string_view resource) const;

 private:
  std::vector<BoundPolicy> all_;
  std::unordered_map<std::string, std::vector<const BoundPolicy*>, StringHash, std::equal_to<>>
      by_resource_;
  std::vector<const BoundPolicy*> any_;  // those with a wildcard
};

}  // namespace cardea::admission
