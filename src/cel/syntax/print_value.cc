#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/strings.h"
#include "cel/eval/opaque.h"
#include "cel/eval/time.h"
#include "cel/syntax/print.h"
#include "cel/syntax/unicode.h"

namespace cardea::cel {
namespace {

// Go's %g with the shortest digits that parse to the same value: exponent form below 1e-4 and from
// a million on.
std::string shortest(double d) {
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, d, std::chars_format::scientific)
                       .ptr;
  std::string_view text(buffer, static_cast<std::size_t>(end - buffer));
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const std::size_t e = text.find('e');
  std::string digits(text.substr(0, 1));
  if (e > 1) digits += text.substr(2, e - 2);
  const int exponent = std::atoi(std::string(text.substr(e + 1)).c_str());
  std::string out = negative ? "-" : "";
  if (exponent < -4 || exponent >= 6) {
    out += digits[0];
    if (digits.size() > 1) out += "." + digits.substr(1);
    std::snprintf(buffer, sizeof buffer, "e%c%02d", exponent < 0 ? '-' : '+', std::abs(exponent));
    return out + buffer;
  }
  if (exponent < 0)
    return out + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) return out + digits + std::string(whole - digits.size(), '0');
  return out + digits.substr(0, whole) + "." + digits.substr(whole);
}

}  // namespace

std::string format_double(double d) {
  if (std::isnan(d)) return "NaN";
  if (std::isinf(d)) return d > 0 ? "+Inf" : "-Inf";
  return shortest(d);
}

std::string print_double(double d) {
  if (std::isnan(d)) return "double(\"NaN\")";
  if (std::isinf(d)) return d > 0 ? "double(\"Infinity\")" : "double(\"-Infinity\")";
  std::string out = shortest(d);
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}

std::string go_quote(std::string_view text) {
  std::string out = "\"";
  char buffer[16];
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t start = i;
    const std::uint32_t c = next_code_point(text, i);
    static constexpr std::string_view kFrom = "\a\b\f\n\r\t\v\\\"";
    static constexpr std::string_view kTo = "abfnrtv\\\"";
    const std::size_t simple = c < 0x80 ? kFrom.find(static_cast<char>(c)) : std::string_view::npos;
    if (simple != std::string_view::npos) {
      out += '\\';
      out += kTo[simple];
    } else if (is_printable(c)) {
      out += text.substr(start, i - start);
    } else {
      std::snprintf(buffer, sizeof buffer,
                    c < 0x80      ? "\\x%02x"
                    : c < 0x10000 ? "\\u%04x"
                                  : "\\U%08x",
                    c);
      out += buffer;
    }
  }
  return out + '"';
}

void print_value_to(std::string& out, const Value& v) {
  switch (v.kind) {
    case Kind::kNull:
      out += "null";
      return;
    case Kind::kBool:
      out += v.boolean ? "true" : "false";
      return;
    case Kind::kInt:
      out += std::to_string(v.integer);
      return;
    case Kind::kUint:
      out += std::to_string(v.natural) + "u";
      return;
    case Kind::kDouble:
      out += print_double(v.real);
      return;
    case Kind::kString:
      out += go_quote(v.string());
      return;
    case Kind::kBytes: {
      out += "b\"";
      char buffer[8];
      for (const char c : v.string()) {
        std::snprintf(buffer, sizeof buffer, "\\%03o", static_cast<unsigned char>(c));
        out += buffer;
      }
      out += '"';
      return;
    }
    case Kind::kTimestamp:
      out += cat("timestamp(\"", print_timestamp(v), "\")");
      return;
    case Kind::kDuration:
      out += cat("duration(\"", print_duration(v.integer), "\")");
      return;
    case Kind::kType:
      out += v.string();
      return;
    case Kind::kOptional:
      if (v.size == 0) {
        out += "optional.none()";
        return;
      }
      out += "optional.of(";
      print_value_to(out, *v.inner);
      out += ")";
      return;
    case Kind::kList:
      out += "[";
      for (std::uint32_t i = 0; i < v.size; ++i) {
        if (i > 0) out += ", ";
        print_value_to(out, list_at(v, i));
      }
      out += "]";
      return;
    case Kind::kMap:
      if (v.form == Value::kOwn) out += v.map->type_name;
      out += "{";
      for (std::uint32_t i = 0; i < v.size; ++i) {
        if (i > 0) out += ", ";
        const Value key = map_key(v, i);
        if (v.form == Value::kOwn && !v.map->type_name.empty())
          out += key.string();
        else
          print_value_to(out, key);
        out += ": ";
        print_value_to(out, map_value(v, i));
      }
      out += "}";
      return;
    // An expression that fails with a message that names the first failure.
    case Kind::kError:
      out += cat("{}[", go_quote(v.error->message), "]");
      return;
    default:
      out += print_opaque(v);
  }
}

std::string print_value(const Value& v) {
  std::string out;
  print_value_to(out, v);
  return out;
}

}  // namespace cardea::cel
