#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cardea {

// An amount of something, as Kubernetes writes it: `500m`, `2Gi`, `1e3`.
//
// An exact decimal number and the family of suffixes it was written with. A value: copy, compare,
// print. Amounts finer than a billionth are rounded away from zero when read; binary amounts beyond
// 2^63-1 are capped there. Equality is of the amount: 1000m == 1.
class Quantity {
 public:
  enum class Format : std::uint8_t { kDecimalSi, kBinarySi, kDecimalExponent };

  Quantity() = default;  // 0
  explicit Quantity(std::int64_t amount, Format format = Format::kDecimalSi);

  // Errors are worded as Kubernetes words them. White space around the amount is not accepted here;
  // Kubernetes' JSON decoder trims it first.
  static Result<Quantity> parse(std::string_view text);

  // The canonical form: no fraction, the largest suffix that allows it. An amount that was read in
  // a form Kubernetes regards as canonical enough is given back as it was written.
  std::string print() const;
  std::string print_exponent() const;  // always digits and a power of ten: 15e-1

  Format format() const { return format_; }
  int sign() const { return digits_.empty() ? 0 : negative_ ? -1 : 1; }
  bool is_integer() const { return exponent_ >= 0; }
  std::optional<std::int64_t> as_int64() const;  // when it is an integer that fits
  // The nearest to the amount times 10^shift.
  double as_double(int shift = 0) const;

  // Rounded away from zero to whole units or thousandths, capped to 64 bits.
  std::int64_t value() const { return rounded(0); }
  std::int64_t milli_value() const { return rounded(3); }

  // The sum has the format of the left side, or of the right when the left is zero.
  Quantity& operator+=(const Quantity& other);
  Quantity& operator-=(const Quantity& other);
  Quantity operator-() const;
  friend Quantity operator+(Quantity a, const Quantity& b) { return a += b; }
  friend Quantity operator-(Quantity a, const Quantity& b) { return a -= b; }

  friend std::strong_ordering operator<=>(const Quantity& a, const Quantity& b);
  friend bool operator==(const Quantity& a, const Quantity& b) { return (a <=> b) == 0; }

 private:
  void normalise();
  void round_up(int exponent);
  std::int64_t rounded(int decimals) const;

  // The amount is digits_ * 10^exponent_. INVARIANT: no zero at either end of digits_; zero is no
  // digits and exponent 0.
  std::string digits_;
  std::int32_t exponent_ = 0;
  bool negative_ = false;
  Format format_ = Format::kDecimalSi;
  std::string text_;  // as written, when that is how it prints
};

}  // namespace cardea
