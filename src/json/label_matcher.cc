#include "json/label_matcher.h"

#include <algorithm>

#include "base/strings.h"

namespace cardea::json {
namespace {

using Operator = LabelSelector::Operator;

std::string_view as_view(const std::string& text) {
  return text;
}

}  // namespace

LabelMatcher::LabelMatcher(const LabelSelector& selector) {
  std::vector<const LabelSelector::Requirement*> by_key;
  for (const LabelSelector::Requirement& r : selector.requirements()) by_key.push_back(&r);
  std::ranges::stable_sort(
      by_key, {}, [](const LabelSelector::Requirement* r) -> std::string_view { return r->key; });
  for (const LabelSelector::Requirement* r : by_key) {
    if (conditions_.empty() || conditions_.back().key != r->key)
      conditions_.push_back(Condition{.key = r->key});
    add(*r, conditions_.back());
  }
  for (Condition& c : conditions_) {
    std::ranges::sort(c.refused);
    needed_ += c.is_needed;
  }
}

void LabelMatcher::add(const LabelSelector::Requirement& r, Condition& to) {
  to.is_needed |= r.op != Operator::kNotIn && r.op != Operator::kNotEquals &&
                  r.op != Operator::kDoesNotExist;
  switch (r.op) {
    case Operator::kIn:
    case Operator::kEquals: {
      std::vector<std::string> values = r.values;
      std::ranges::sort(values);
      if (to.allowed)
        std::erase_if(values, [&](const std::string& value) {
          return !std::ranges::binary_search(*to.allowed, value);
        });
      to.allowed = std::move(values);
      break;
    }
    case Operator::kNotIn:
    case Operator::kNotEquals:
      to.refused.insert(to.refused.end(), r.values.begin(), r.values.end());
      break;
    case Operator::kExists:
      break;
    case Operator::kDoesNotExist:
      to.is_unwanted = true;
      break;
    case Operator::kGreaterThan:
    case Operator::kLessThan: {
      auto bound = r.values.size() == 1 ? parse_int(r.values[0]) : std::nullopt;
      if (!bound) {
        is_impossible_ = true;
      } else if (r.op == Operator::kGreaterThan) {
        to.above = std::max<std::int64_t>(to.above.value_or(*bound), *bound);
      } else {
        to.below = std::min<std::int64_t>(to.below.value_or(*bound), *bound);
      }
    }
  }
}

bool LabelMatcher::Condition::accepts(std::string_view value) const {
  if (is_unwanted) return false;
  if (allowed && !std::ranges::binary_search(*allowed, value, {}, as_view)) return false;
  if (std::ranges::binary_search(refused, value, {}, as_view)) return false;
  if (!above && !below) return true;
  auto number = parse_int(value);
  return number && (!above || *number > *above) && (!below || *number < *below);
}

const LabelMatcher::Condition* LabelMatcher::condition_on(std::string_view key) const {
  auto key_of = [](const Condition& c) -> std::string_view { return c.key; };
  auto at = std::ranges::lower_bound(conditions_, key, {}, key_of);
  return at != conditions_.end() && at->key == key ? &*at : nullptr;
}

bool LabelMatcher::matches(const Value& labels) const {
  if (is_impossible_) return false;
  if (conditions_.size() <= labels.size()) {
    return std::ranges::all_of(conditions_, [&](const Condition& c) {
      const Value* found = labels.find(c.key);
      return found ? c.accepts(found->as_string()) : !c.is_needed;
    });
  }
  std::size_t found = 0;
  for (const Member& label : labels.members()) {
    const Condition* condition = condition_on(label.key());
    if (!condition) continue;
    if (!condition->accepts(label.value.as_string())) return false;
    found += condition->is_needed;
  }
  return found == needed_;
}

}  // namespace cardea::json
