#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "base/strings.h"

namespace cardea::catalog {

// The place in an object that a check looks at, in Kubernetes' notation:
// spec.containers[0].ports[1].name, data[key]. A value, cheap enough to build for every object that
// is checked.
class Path {
 public:
  Path() = default;
  Path(std::string_view text) : text_(text) {}
  Path(const char* text) : text_(text) {}

  Path child(std::string_view name) const {
    return Path(text_.empty() ? std::string(name) : cat(text_, ".", name));
  }
  Path operator/(std::string_view name) const { return child(name); }
  Path index(std::size_t i) const { return Path(cat(text_, "[", i, "]")); }
  Path key(std::string_view name) const { return Path(cat(text_, "[", name, "]")); }

  const std::string& text() const { return text_; }
  operator std::string() const { return text_; }

 private:
  std::string text_;
};

}  // namespace cardea::catalog
