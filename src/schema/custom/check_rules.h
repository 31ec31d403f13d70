#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "json/field_error.h"
#include "json/value.h"

namespace cardea::schema {

// Compiles the x-kubernetes-validations of a definition's schema as its nodes are visited, and adds
// up what they may cost. Kubernetes reports these errors after those of the schema's form.
class RuleChecker {
 public:
  // What one rule, and all rules of a schema, may cost at worst.
  static constexpr std::uint64_t kRuleLimit = 10'000'000, kTotalLimit = 100'000'000;

  // What a node inherits from those above it.
  struct Context {
    std::optional<std::uint64_t> occurrences = 1;  // how often data of the node may occur in an
                                                   // object; nullopt: unbounded
    std::string uncorrelatable;  // the list above whose items cannot be told apart; empty when
                                 // there is none
    bool can_compile = true;     // not below alternatives and negations

    Context property() const { return *this; }
    Context nested() const;
    // Below `schema` at `path`, in its items or its additional properties.
    Context element(const json::Value& schema, const std::string& path) const;
  };

  // `suppress_costs`: the schema is unchanged, and a single rule of it may stay too expensive.
  explicit RuleChecker(bool suppress_costs) : suppress_costs_(suppress_costs) {}

  // Call for a node in whose subtree nothing else is wrong.
  void node(const json::Value& schema, const std::string& path, bool root, const Context& context);
  // After the last node.
  void total(const std::string& path);

  json::FieldErrors errors;

 private:
  struct Cost {
    std::string path;
    std::uint64_t cost;
  };
  void observe(const std::string& path, std::uint64_t cost);

  bool suppress_costs_;
  std::uint64_t total_ = 0;
  std::vector<Cost> dearest_;
};

}  // namespace cardea::schema
