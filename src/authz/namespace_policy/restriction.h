#pragma once
#include <memory>
#include <string>
#include <vector>

#include "authz/namespace_policy/documents.h"
#include "cel/program.h"
#include "schema/ownership/field_set.h"

namespace cardea::authz::namespace_policy {

// One entry of `fieldsMutatable`: `labels`, `spec.replicas`,
// `spec.template.spec.containers[*].image`, `metadata.labels["app.kubernetes.io/name"]`. Reaches
// everything below.
class FieldPattern {
 public:
  // Empty with a problem for a person: it cannot be read.
  static FieldPattern parse(std::string_view text, std::string& problem);
  bool covers(const schema::FieldPath& path) const;
  // Whether objects of this shape can have such a field.
  bool is_in(const schema::Schema& schema) const;

 private:
  struct Step {
    bool is_any = false;  // any item or key
    std::string element;  // `f:spec`
  };
  std::vector<Step> steps_;
};

// `protected` or `tier=front`.
struct LabelPattern {
  std::string key, value;
  bool has_value = false;
};
LabelPattern read_label_pattern(std::string_view text);
// Whether the object has all of them.
bool has_labels(const json::Value& object, const std::vector<LabelPattern>& labels);

// A CEL expression over request, object and oldObject. Null with a problem: it does not compile or
// gives no bool.
std::shared_ptr<const cel::Program> compile_expression(std::string_view text, std::string& problem);

// The errors of a restriction itself and of its rule.
json::FieldErrors validate_restriction(const Rule& rule, const std::vector<std::string>& kinds,
                                       const std::string& at);

}  // namespace cardea::authz::namespace_policy
