#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "json/field_error.h"
#include "json/value.h"

namespace cardea::schema {

struct RuleNode;

// The x-kubernetes-validations of one custom resource's schema, made to be run. Compiled when first
// asked, so that a server with many definitions starts quickly. Immutable for its users; shared
// between threads.
class ObjectRules {
 public:
  // What one object may spend on all its rules, and one evaluation on its own.
  static constexpr std::int64_t kBudget = 10'000'000;
  static constexpr std::uint64_t kCallLimit = 1'000'000;

  // `root`: values are whole resources.
  ObjectRules(json::Value open_api, bool root);
  ~ObjectRules();
  ObjectRules(const ObjectRules&) = delete;

  // Whether a schema has any, alternatives and negations left out, as Kubernetes looks for them.
  static bool any_in(const json::Value& open_api);

  struct Outcome {
    json::FieldErrors errors;
    std::vector<std::string> warnings;  // broken rules that an update did not touch
    std::int64_t budget = 0;            // what is left; below zero when evaluation was given up
  };
  // On create `old` is null: transition rules do not run then. `ratchet`: an unchanged part of the
  // object may go on breaking a rule. `base` is the path of the value.
  Outcome check(const json::Value& value, const json::Value* old, bool ratchet,
                const std::string& base = "", std::int64_t budget = kBudget) const;

 private:
  const RuleNode* tree() const;

  json::Value open_api_;
  bool root_;
  mutable std::once_flag once_;
  mutable std::unique_ptr<const RuleNode> tree_;
};

}  // namespace cardea::schema
