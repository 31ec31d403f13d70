#pragma once
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "json/field_error.h"
#include "json/value.h"

namespace cardea::cel {
class Program;
}

namespace cardea::authz {

// Expressions over a SubjectAccessReview's spec that decide whether a webhook is asked at all.
// Immutable, shared between threads.
class MatchConditions {
 public:
  MatchConditions() = default;  // none: everything matches

  // `at` is the path of the list: `authorizers[0].matchConditions`. Errors are those of
  // kube-apiserver; texts of the parser and checker come from our own.
  static std::expected<MatchConditions, json::FieldErrors> compile(
      const std::vector<std::string>& expressions, const std::string& at);

  struct Outcome {
    bool matches = false;
    std::string error;  // some expression failed and none was false; then `matches` is false
  };
  // `request` is the spec as expressions see it: user, uid, groups and extra are always there.
  Outcome evaluate(const json::Value& request) const;
  bool empty() const { return conditions_.empty(); }

 private:
  struct Entry {
    std::string expression;
    std::shared_ptr<const cel::Program> program;
  };
  std::vector<Entry> conditions_;
};

}  // namespace cardea::authz
