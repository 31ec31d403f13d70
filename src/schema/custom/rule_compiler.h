#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "cel/program.h"
#include "json/value.h"

namespace cardea::cel {
struct DataSize;
}

namespace cardea::schema {

// One of a node's x-kubernetes-validations, ready to run or with what is wrong with it.
struct CompiledRule {
  std::shared_ptr<const cel::Program> rule, message;  // null: did not compile, or none was written
  std::string error, message_error;  // in Kubernetes' words; empty when all is well
  bool uses_old = false;             // mentions oldSelf: a transition rule
  bool optional_old = false;         // optionalOldSelf: runs without an old value too
  std::uint64_t max_cost = 0, message_max_cost = 0;  // of one run, at worst
  std::string field_path;  // below the node, as errors write it; empty for the node
  json::Value source;
};

// Compiles the rules of one node of a custom resource's schema, whose data is `self` and `oldSelf`.
class RuleCompiler {
 public:
  // `root`: the node is a whole resource, embedded ones too.
  RuleCompiler(const json::Value& schema, bool root);
  ~RuleCompiler();

  // False when rules cannot see data of this schema: there is nothing to compile against.
  bool has_type() const { return size_ != nullptr; }
  std::uint64_t most_occurrences() const;
  CompiledRule compile(const json::Value& rule);

 private:
  std::shared_ptr<const cel::Environment> environment(bool optional_old);

  json::Value schema_;
  bool root_;
  std::unique_ptr<cel::DataSize> size_;
  std::shared_ptr<const cel::Environment> plain_, optional_;
};

// Slots of the variables in the environments of rules.
inline constexpr std::uint32_t kSelfSlot = 0, kOldSelfSlot = 1;

}  // namespace cardea::schema
