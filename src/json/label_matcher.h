#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/selector.h"

namespace cardea::json {

// Tests labels against a selector. The cost is that of the smaller of the two, however many
// requirements there are: those of one key are one condition. A value.
class LabelMatcher {
 public:
  LabelMatcher() = default;
  explicit LabelMatcher(const LabelSelector& selector);

  bool matches(const Value& labels) const;  // an object of strings, or null

 private:
  struct Condition {
    std::string key;
    bool is_needed = false;                           // the key must be there
    bool is_unwanted = false;                         // the key must not be there
    std::optional<std::vector<std::string>> allowed;  // sorted
    std::vector<std::string> refused;                 // sorted
    std::optional<std::int64_t> above, below;
    bool accepts(std::string_view value) const;
  };
  void add(const LabelSelector::Requirement& requirement, Condition& to);
  const Condition* condition_on(std::string_view key) const;

  std::vector<Condition> conditions_;  // by key
  std::size_t needed_ = 0;
  bool is_impossible_ = false;
};

}  // namespace cardea::json
