#pragma once
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cel/check/types.h"
#include "cel/syntax/ast.h"

// The parts of the cost estimate, which estimate.cc combines. Only for cel/estimate*.cc.
namespace cardea::cel {

constexpr std::uint64_t kUnbounded = ~std::uint64_t{0};

inline std::uint64_t add_capped(std::uint64_t a, std::uint64_t b) {
  return a > kUnbounded - b ? kUnbounded : a + b;
}
inline std::uint64_t multiply_capped(std::uint64_t a, std::uint64_t b) {
  return b != 0 && a > kUnbounded / b ? kUnbounded : a * b;
}
// a * factor, rounded up.
inline std::uint64_t scale_capped(std::uint64_t a, double factor) {
  const double product = std::ceil(static_cast<double>(a) * factor);
  return product >= 18446744073709551616.0 ? kUnbounded : static_cast<std::uint64_t>(product);
}

struct SizeRange {
  std::uint64_t min = 0, max = kUnbounded;

  SizeRange joined(const SizeRange& o) const {
    return {std::min(min, o.min), std::max(max, o.max)};
  }
  SizeRange operator+(const SizeRange& o) const {
    return {add_capped(min, o.min), add_capped(max, o.max)};
  }
  SizeRange operator*(const SizeRange& o) const {
    return {multiply_capped(min, o.min), multiply_capped(max, o.max)};
  }
};

// The path from a variable to the data: names, `@items`, `@keys`, `@values`. It behaves like a
// slice in Go: an element that is added in the spare room of one path is visible in other paths
// that share this room. Kubernetes' numbers depend on this.
class DataPath {
 public:
  DataPath() = default;
  explicit DataPath(std::string_view variable)
      : steps_(std::make_shared<std::vector<std::string>>(1, std::string(variable))), size_(1) {}

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  const std::string& operator[](std::size_t i) const { return (*steps_)[i]; }
  DataPath then(std::string_view step) const {
    DataPath out = *this;
    if (steps_ == nullptr || size_ == steps_->size()) {
      out.steps_ = std::make_shared<std::vector<std::string>>(size_ == 0 ? 1 : size_ * 2);
      for (std::size_t i = 0; i < size_; ++i) (*out.steps_)[i] = (*steps_)[i];
    }
    (*out.steps_)[size_] = step;
    ++out.size_;
    return out;
  }

 private:
  std::shared_ptr<std::vector<std::string>> steps_;
  std::size_t size_ = 0;
};

// Sizes of the content of a list or map.
struct EntrySizes {
  bool is_map = false;
  SizeRange key, value;
};

// One measured expression.
struct Measured {
  const Expr* expr = nullptr;  // null for expressions that only macros write
  const Type* type = nullptr;
  std::uint64_t cost = 0;
  DataPath path;
  std::optional<SizeRange> computed;  // of a call's result, or found by the path
  std::optional<SizeRange> written;   // of a literal
  std::optional<SizeRange> local;     // of a loop's variable: used last
  std::optional<EntrySizes> entries;
};

// Sizes by path and type.
class SizeSource {
 public:
  virtual ~SizeSource() = default;
  virtual std::optional<SizeRange> by_path(const DataPath& path) const = 0;

  std::optional<SizeRange> size_of(Measured& m) const;
  SizeRange size_or_unknown(Measured& m) const { return size_of(m).value_or(SizeRange{}); }
};

// The cost of one overload without its arguments, and the size of its result.
struct CallPrice {
  std::uint64_t cost = 1;
  std::optional<SizeRange> result;
  std::optional<EntrySizes> entries;
};
CallPrice call_price(const SizeSource& sizes, std::string_view function, std::string_view overload,
                     Measured* target, std::vector<Measured>& args);

}  // namespace cardea::cel
