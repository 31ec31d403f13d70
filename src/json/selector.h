#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace cardea::json {

// `app in (a, b), tier != x, !old`: a conjunction of requirements on labels. A value.
class LabelSelector {
 public:
  enum class Operator {
    kIn,
    kNotIn,
    kEquals,
    kNotEquals,
    kExists,
    kDoesNotExist,
    kGreaterThan,
    kLessThan
  };
  struct Requirement {
    std::string key;
    Operator op;
    std::vector<std::string> values;
  };

  // Errors are worded as Kubernetes words them: `unable to parse requirement: ...`.
  static Result<LabelSelector> parse(std::string_view text);
  // Whether a requirement that was not parsed makes sense: its key, its values, and how many.
  static Result<void> check(const Requirement& requirement);

  bool empty() const { return requirements_.empty(); }
  bool matches(const Value& labels) const;  // an object of strings, or null
  const std::vector<Requirement>& requirements() const { return requirements_; }
  void add(Requirement requirement) { requirements_.push_back(std::move(requirement)); }

 private:
  std::vector<Requirement> requirements_;
};

// `metadata.name=x,status.phase!=Running`: a conjunction of terms on fields. A value.
class FieldSelector {
 public:
  struct Term {
    std::string field;
    bool equal;
    std::string value;
  };

  static Result<FieldSelector> parse(std::string_view text);

  bool empty() const { return terms_.empty(); }
  const std::vector<Term>& terms() const { return terms_; }
  void add(Term term) { terms_.push_back(std::move(term)); }
  // The value that `field` must equal, if a term says so.
  std::optional<std::string> exact(std::string_view field) const;

 private:
  std::vector<Term> terms_;
};

}  // namespace cardea::json
