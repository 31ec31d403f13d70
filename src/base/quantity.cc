#include "base/quantity.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/strings.h"

namespace cardea {
namespace {

using Format = Quantity::Format;

struct Suffix {
  std::string_view text;
  int base;
  int exponent;
};

constexpr Suffix kSuffixes[] = {
    {"n", 10, -9}, {"u", 10, -6}, {"m", 10, -3}, {"", 10, 0},   {"k", 10, 3},  {"M", 10, 6},
    {"G", 10, 9},  {"T", 10, 12}, {"P", 10, 15}, {"E", 10, 18}, {"Ki", 2, 10}, {"Mi", 2, 20},
    {"Gi", 2, 30}, {"Ti", 2, 40}, {"Pi", 2, 50}, {"Ei", 2, 60},
};

constexpr std::string_view kMaxInt64 = "9223372036854775807";
constexpr int kFinest = -9;
// Far beyond any real amount; keeps the sum of two amounts from growing to as many digits as an
// exponent says.
constexpr std::int64_t kLargestExponent = 1000;

Error format_wrong() {
  return bad_request(
      "quantities must match the regular expression "
      "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
}
Error suffix_wrong() {
  return bad_request("unable to parse quantity's suffix");
}

// Decimal digits, most significant first, without leading zeros.
int compare_digits(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}

std::string add_digits(std::string_view a, std::string_view b) {
  if (a.size() < b.size()) std::swap(a, b);
  std::string out(a.size() + 1, '0');
  int carry = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    int sum = a[a.size() - 1 - i] - '0' + carry + (i < b.size() ? b[b.size() - 1 - i] - '0' : 0);
    out[out.size() - 1 - i] = static_cast<char>('0' + sum % 10);
    carry = sum / 10;
  }
  out[0] = static_cast<char>('0' + carry);
  return out;
}

// a - b, where a is not less than b.
std::string subtract_digits(std::string_view a, std::string_view b) {
  std::string out(a);
  int borrow = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    int difference = a[a.size() - 1 - i] - '0' - borrow -
                     (i < b.size() ? b[b.size() - 1 - i] - '0' : 0);
    borrow = difference < 0;
    out[out.size() - 1 - i] = static_cast<char>('0' + difference + 10 * borrow);
  }
  return out;
}

std::string multiply_digits(std::string_view a, std::uint32_t factor) {
  std::string out;
  std::uint64_t carry = 0;
  for (std::size_t i = a.size(); i-- > 0;) {
    carry += static_cast<std::uint64_t>(a[i] - '0') * factor;
    out += static_cast<char>('0' + carry % 10);
    carry /= 10;
  }
  for (; carry; carry /= 10) out += static_cast<char>('0' + carry % 10);
  std::ranges::reverse(out);
  return out;
}

// The digits divided by 1024 when that leaves no rest.
std::optional<std::string> divide_by_1024(std::string_view a) {
  std::string out;
  unsigned rest = 0;
  for (char c : a) {
    rest = rest * 10 + static_cast<unsigned>(c - '0');
    if (unsigned digit = rest / 1024; digit || !out.empty()) out += static_cast<char>('0' + digit);
    rest %= 1024;
  }
  if (rest) return std::nullopt;
  return out;
}

bool digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view take_digits(std::string_view& text) {
  std::size_t n = 0;
  while (n < text.size() && digit(text[n])) ++n;
  auto taken = text.substr(0, n);
  text.remove_prefix(n);
  return taken;
}

bool suffix_is_well_formed(std::string_view suffix) {
  suffix.remove_prefix(std::min(suffix.find_first_not_of("eEinumkKMGTP"), suffix.size()));
  if (!suffix.empty() && (suffix[0] == '+' || suffix[0] == '-')) suffix.remove_prefix(1);
  take_digits(suffix);
  return suffix.empty();
}

std::optional<Suffix> interpret(std::string_view text) {
  for (const Suffix& s : kSuffixes)
    if (s.text == text) return s;
  if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) return std::nullopt;
  text.remove_prefix(1);
  if (text[0] == '+') text.remove_prefix(1);
  auto exponent = text.empty() || text[0] == '+' ? std::nullopt : parse_int(text);
  if (!exponent || *exponent > kLargestExponent) return std::nullopt;
  return Suffix{"e", 10, static_cast<int>(std::max<std::int64_t>(*exponent, -100'000))};
}

// Whether Kubernetes keeps the text of an amount instead of computing the canonical one. `1.500`
// and `007` pass, which is part of what its clients see.
bool keeps_text(std::string_view whole, std::string_view fraction, const Suffix& suffix) {
  if (suffix.base == 10) {
    int scale = suffix.exponent - static_cast<int>(fraction.size());
    std::string shifted = cat(whole, fraction);
    return shifted.size() <= 18 && scale >= kFinest && scale % 3 == 0 &&
           !shifted.ends_with("000") && shifted[0] != '0';
  }
  int precision = 15 - static_cast<int>(whole.size()) - suffix.exponent * 3 / 10 - 1;
  auto value = parse_int(whole);
  return fraction.empty() && precision >= 0 && value && (*value & 7) != 0;
}

}  // namespace

Quantity::Quantity(std::int64_t amount, Format format)
    : digits_(std::to_string(amount)), negative_(amount < 0), format_(format) {
  if (negative_) digits_.erase(0, 1);
  normalise();
}

void Quantity::normalise() {
  digits_.erase(0, std::min(digits_.find_first_not_of('0'), digits_.size()));
  auto last = digits_.find_last_not_of('0');
  if (last == std::string::npos) {
    digits_.clear();
    exponent_ = 0;
    negative_ = false;
    return;
  }
  exponent_ += static_cast<std::int32_t>(digits_.size() - last - 1);
  digits_.resize(last + 1);
}

void Quantity::round_up(int exponent) {
  if (exponent_ >= exponent) return;
  auto dropped = static_cast<std::size_t>(exponent - exponent_);
  // What is dropped is never zero: the last digit is not.
  std::string kept = dropped < digits_.size() ? digits_.substr(0, digits_.size() - dropped) : "0";
  digits_ = add_digits(kept, "1");
  exponent_ = exponent;
  normalise();
}

Result<Quantity> Quantity::parse(std::string_view text) {
  std::string_view rest = text;
  Quantity q;
  if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) {
    q.negative_ = rest[0] == '-';
    rest.remove_prefix(1);
  }
  if (rest.empty() || (!digit(rest[0]) && rest[0] != '.')) return fail(format_wrong());
  rest.remove_prefix(std::min(rest.find_first_not_of('0'), rest.size()));
  std::string_view whole = take_digits(rest), fraction;
  if (whole.empty()) whole = "0";
  if (!rest.empty() && rest[0] == '.') {
    rest.remove_prefix(1);
    fraction = take_digits(rest);
  }
  if (!suffix_is_well_formed(rest)) return fail(format_wrong());
  auto suffix = interpret(rest);
  if (!suffix) return fail(suffix_wrong());

  q.format_ = suffix->base == 2     ? Format::kBinarySi
              : suffix->text == "e" ? Format::kDecimalExponent
                                    : Format::kDecimalSi;
  q.digits_ = cat(whole, fraction);
  q.exponent_ = -static_cast<std::int32_t>(fraction.size());
  if (suffix->base == 10)
    q.exponent_ += suffix->exponent;
  else
    for (int i = 0; i < suffix->exponent; i += 10) q.digits_ = multiply_digits(q.digits_, 1024);
  q.normalise();
  if (q.sign() != 0) q.round_up(kFinest);

  if (q.format_ == Format::kBinarySi && q.sign() != 0) {
    Quantity magnitude = q;
    magnitude.negative_ = false;
    Quantity largest(INT64_MAX), one(1);
    if (magnitude > largest) {
      q.digits_ = kMaxInt64;
      q.exponent_ = 0;
    }
    if (magnitude < one) q.format_ = Format::kDecimalSi;
  }
  if (text == "0" || keeps_text(whole, fraction, *suffix)) q.text_ = text;
  return q;
}

std::string Quantity::print() const {
  if (!text_.empty()) return text_;
  if (sign() == 0) return "0";
  std::string sign_text = negative_ ? "-" : "";
  auto whole_digits = [&] {
    return digits_ + std::string(static_cast<std::size_t>(exponent_), '0');
  };

  if (format_ == Format::kBinarySi && is_integer()) {
    // Amounts under 1Ki read better without a suffix.
    if (std::string number = whole_digits(); compare_digits(number, "1024") >= 0) {
      int power = 0;
      for (; power < 6; ++power) {
        auto next = divide_by_1024(number);
        if (!next) break;
        number = std::move(*next);
      }
      constexpr std::string_view kPowers[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
      return cat(sign_text, number, kPowers[power]);
    }
  }

  // The exponent becomes a multiple of three by writing out zeros.
  int zeros = ((exponent_ % 3) + 3) % 3;
  int exponent = exponent_ - zeros;
  if (format_ != Format::kDecimalExponent && exponent > 18) {
    zeros += exponent - 18;
    exponent = 18;
  }
  std::string number = sign_text + digits_ + std::string(static_cast<std::size_t>(zeros), '0');
  if (format_ == Format::kDecimalExponent)
    return exponent == 0 ? number : cat(number, "e", exponent);
  for (const Suffix& s : kSuffixes)
    if (s.base == 10 && s.exponent == exponent) return cat(number, s.text);
  return cat(number, "e", exponent);
}

std::string Quantity::print_exponent() const {
  return sign() == 0 ? "0" : cat(negative_ ? "-" : "", digits_, "e", exponent_);
}

std::optional<std::int64_t> Quantity::as_int64() const {
  if (!is_integer() || exponent_ > 19) return std::nullopt;
  return parse_int(cat(negative_ ? "-" : "", digits_,
                       std::string(static_cast<std::size_t>(exponent_), '0'),
                       digits_.empty() ? "0" : ""));
}

double Quantity::as_double(int shift) const {
  if (sign() == 0) return 0;
  return std::strtod(cat(negative_ ? "-" : "", digits_, "e", exponent_ + shift).c_str(), nullptr);
}

std::int64_t Quantity::rounded(int decimals) const {
  Quantity q = *this;
  if (q.sign() == 0) return 0;
  q.exponent_ += decimals;
  q.round_up(0);
  if (auto exact = q.as_int64()) return *exact;
  return negative_ ? INT64_MIN : INT64_MAX;
}

Quantity& Quantity::operator+=(const Quantity& other) {
  text_.clear();
  if (sign() == 0) format_ = other.format_;
  if (other.sign() == 0) return *this;
  if (sign() == 0) {
    digits_ = other.digits_;
    exponent_ = other.exponent_;
    negative_ = other.negative_;
    return *this;
  }
  int exponent = std::min(exponent_, other.exponent_);
  std::string a = digits_ + std::string(static_cast<std::size_t>(exponent_ - exponent), '0');
  std::string b = other.digits_ +
                  std::string(static_cast<std::size_t>(other.exponent_ - exponent), '0');
  exponent_ = exponent;
  if (negative_ == other.negative_) {
    digits_ = add_digits(a, b);
  } else if (compare_digits(a, b) >= 0) {
    digits_ = subtract_digits(a, b);
  } else {
    digits_ = subtract_digits(b, a);
    negative_ = other.negative_;
  }
  normalise();
  return *this;
}

Quantity Quantity::operator-() const {
  Quantity q = *this;
  q.text_.clear();
  if (q.sign() != 0) q.negative_ = !q.negative_;
  return q;
}

Quantity& Quantity::operator-=(const Quantity& other) {
  return *this += -other;
}

std::strong_ordering operator<=>(const Quantity& a, const Quantity& b) {
  if (auto by_sign = a.sign() <=> b.sign(); by_sign != 0) return by_sign;
  if (a.sign() == 0) return std::strong_ordering::equal;
  auto magnitude_a = static_cast<std::int64_t>(a.digits_.size()) + a.exponent_;
  auto magnitude_b = static_cast<std::int64_t>(b.digits_.size()) + b.exponent_;
  auto order = magnitude_a <=> magnitude_b;
  if (order == 0) order = a.digits_ <=> b.digits_;  // no trailing zeros, so text order is the order
  if (!a.negative_) return order;
  return 0 <=> order;
}

}  // namespace cardea
