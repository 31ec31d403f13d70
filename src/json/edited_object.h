#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/value.h"

namespace cardea::json {

// An object while many of its members are set and erased. Each edit costs the logarithm of the
// number of edits, where Value::set and erase cost the size of the object; take() puts it together.
class EditedObject {
 public:
  explicit EditedObject(Value base) : base_(std::move(base)) {}

  // Lives until the member is edited, or the object taken.
  const Value* find(std::string_view key) const {
    if (auto at = edits_.find(key); at != edits_.end()) return at->second ? &*at->second : nullptr;
    return base_.find(key);
  }
  void set(std::string_view key, Value value) { edit(key) = std::move(value); }
  void erase(std::string_view key) { edit(key) = std::nullopt; }

  Value take() {
    if (edits_.empty()) return std::move(base_);
    std::vector<Member> out;
    auto old = base_.members();
    out.reserve(old.size() + edits_.size());
    std::size_t i = 0;
    for (auto& [key, value] : edits_) {
      while (i < old.size() && old[i].key() < key) out.push_back(old[i++]);
      const bool is_there = i < old.size() && old[i].key() == key;
      if (value) out.push_back({is_there ? old[i].name : Value(key), std::move(*value)});
      i += is_there;
    }
    out.insert(out.end(), old.begin() + static_cast<std::ptrdiff_t>(i), old.end());
    return Value::object(std::move(out));
  }

 private:
  std::optional<Value>& edit(std::string_view key) {
    auto at = edits_.find(key);
    return at != edits_.end() ? at->second : edits_[std::string(key)];
  }

  Value base_;
  std::map<std::string, std::optional<Value>, std::less<>> edits_;
};

}  // namespace cardea::json
