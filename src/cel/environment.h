#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/strings.h"
#include "cel/check/function.h"
#include "cel/check/types.h"
#include "cel/syntax/parser.h"

namespace cardea::cel {

// Function libraries. A version above zero adds later functions, as in cel-go and Kubernetes.
enum class Library {
  kStandard,
  kOptional,
  kStrings,
  kLists,
  kSets,
  kMath,
  kEncoders,
  kBindings,
  kTwoVariables,
  kNetwork,
  kBlock,
  kRegexExt,
  kK8sLists,
  kK8sRegex,
  kK8sUrls,
  kK8sQuantity,
  kK8sIp,
  kK8sCidr,
  kK8sFormat,
  kK8sSemver,
  kK8sAuthorizer,
  kK8sSelectors,
  kK8sJsonPatch,
};
std::span<const OverloadRow> overloads_of(Library library);

struct Variable {
  std::string name;  // may contain dots: `authorizer.requestResource`
  const Type* type = nullptr;
  std::uint32_t slot = 0;
};

// The variables, types, functions and macros that expressions may use. Once built it is immutable,
// and threads may share it.
class Environment {
 public:
  // Builds an environment. Add libraries and declarations first, then take it with
  // `std::move(env).share()`.
  Environment();

  Environment& library(Library library, int version = 100);
  Environment& variable(std::string_view name, const Type* type);
  Environment& variable(std::string_view name, std::string_view type) {
    return variable(name, types_->parse(type));
  }
  Environment& record(std::string_view name,
                      std::vector<std::pair<std::string_view, std::string_view>> fields);
  Environment& record(ObjectType type);
  Environment& function(std::string_view name, Overload overload);
  // Calls cost as much as in Kubernetes, and has() costs nothing.
  Environment& kubernetes_costs();
  Environment& free_presence_tests() {
    kubernetes_costs_ = true;
    return *this;
  }

  std::string container;           // for name resolution, as `package` in protobuf
  bool homogeneous = false;        // literals with elements of different types are refused
  bool cross_type_numbers = true;  // 1 < 1.5 checks
  bool lenient = false;  // as cel-go: has(null.f) is false, of repeated keys the last counts; else
                         // errors
  bool validate_literals = false;  // duration("x") and matches("[") with constant arguments do not
                                   // compile
  std::string open_structs;  // struct types with this name or below it take any field (`Object`)
  ParseOptions parsing;

  std::shared_ptr<const Environment> share() && {
    return std::make_shared<const Environment>(std::move(*this));
  }

  const Function* find_function(std::string_view name) const;
  const Variable* find_variable(std::string_view name) const;
  const ObjectType* find_record(std::string_view name) const;
  const std::vector<Variable>& variables() const { return variables_; }
  TypePool& types() const { return *types_; }
  bool counts_as_kubernetes() const { return kubernetes_costs_; }
  // The type that a name such as `int` or `google.protobuf.Timestamp` stands for in an expression,
  // or null.
  const Type* type_named(std::string_view name) const;

 private:
  template <typename T>
  using ByName = std::unordered_map<std::string, T, StringHash, std::equal_to<>>;
  std::shared_ptr<TypePool> types_;
  std::vector<Variable> variables_;
  ByName<std::size_t> variable_index_;
  ByName<Function> functions_;
  ByName<ObjectType> records_;
  ByName<const Type*> named_types_;
  bool kubernetes_costs_ = false;
};

// `a.b` and `x` give a.b.x, a.x, x: the names that are tried from inside a container.
std::vector<std::string> candidate_names(std::string_view container, std::string_view name);

}  // namespace cardea::cel
