#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cardea/result.h"
#include "cardea/version.h"

namespace cardea::v1 {

// CEL, the Common Expression Language, with the functions that Kubernetes gives its users and the
// extensions bindings, math and encoders.

// A variable that expressions may read. Types as CEL writes them: "int", "string", "list(string)",
// "map(string, dyn)"; "dyn" is anything.
struct Variable {
  std::string name;
  std::string type = "dyn";
};

// Values of variables by name, as JSON texts: {"object", R"({"a": 1})"}.
using Bindings = std::map<std::string, std::string>;

// What an evaluation gives.
struct Value {
  std::string text;        // as CEL that makes it again: 1u, "a", timestamp("...")
  std::string json;        // as JSON; empty where it has no such form
  std::uint64_t cost = 0;  // of the evaluation, as Kubernetes counts it
};

inline constexpr std::uint64_t kUsualCostLimit = 1'000'000;  // what Kubernetes allows an expression

// What is left of an expression when some of its variables are known: a value, or a smaller
// expression that reads only what is unknown. For every value of the unknown it gives what the
// whole expression would give, and an error exactly where that would fail. Immutable; any thread.
class CARDEA_EXPORT Residual {
 public:
  bool is_value() const;     // it is true, or 3, whatever the unknown is
  std::string text() const;  // canonical CEL; of a value that value
  // Upper bounds: false means that it cannot happen, whatever the unknown is.
  bool can_be_true() const;
  bool can_be_false() const;
  bool can_fail() const;
  std::vector<std::string> reads() const;  // "object.spec.replicas"
  // `bindings` has values for the unknown variables.
  Result<Value> evaluate(const Bindings& bindings,
                         std::uint64_t cost_limit = kUsualCostLimit) const;

  struct Content;
  explicit Residual(std::shared_ptr<const Content> content) : content_(std::move(content)) {}

 private:
  std::shared_ptr<const Content> content_;
};

// A compiled expression. Immutable, cheap to copy; any thread.
class CARDEA_EXPORT Program {
 public:
  // Parses and checks. The message of an error shows the place, as cel-go does.
  static Result<Program> compile(std::string_view expression,
                                 const std::vector<Variable>& variables = {});

  std::string type() const;  // of its value: "bool"
  Result<Value> evaluate(const Bindings& bindings,
                         std::uint64_t cost_limit = kUsualCostLimit) const;
  // Evaluates as far as the bindings go. `unknown` names variables that have no value yet
  // (`object`), or parts that are not known of variables that have one: `object.spec`,
  // `object.labels["a/b"]`, `object.items[*].name`. An error when what is known fails already.
  Result<Residual> partially_evaluate(const Bindings& bindings,
                                      const std::vector<std::string>& unknown,
                                      std::uint64_t cost_limit = kUsualCostLimit) const;

  struct Content;
  explicit Program(std::shared_ptr<const Content> content) : content_(std::move(content)) {}

 private:
  std::shared_ptr<const Content> content_;
};

}  // namespace cardea::v1
