#include "cel/lib/format_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <vector>

#include "base/strings.h"
#include "cel/eval/time.h"
#include "cel/syntax/print.h"

namespace cardea::cel {
namespace {

class Formatter {
 public:
  Formatter(Frame& frame, bool localized) : f_(frame), localized_(localized) {}
  std::string out;
  std::string why;
  bool too_much = false;  // more text than the evaluation may make

  bool run(std::string_view format, const Value& args) {
    std::uint32_t next = 0;
    for (std::size_t i = 0; i < format.size();) {
      if (format[i] != '%') {
        out += format[i++];
        continue;
      }
      if (++i >= format.size()) return fail("unexpected end of string");
      if (format[i] == '%') {
        out += '%';
        ++i;
        continue;
      }
      int precision = 6;
      if (format[i] == '.' && !read_precision(format, i, precision)) return false;
      if (next >= args.size) return fail(cat("index ", next, " out of range"));
      if (!clause(format[i++], precision, list_at(args, next++))) return false;
    }
    return true;
  }

 private:
  bool fail(std::string message) {
    why = std::move(message);
    return false;
  }
  bool unfit(std::string_view problem, const Value& v) {
    return fail(cat("error during formatting: ", problem, ", was given ", type_name(v)));
  }

  // A list may contain another list many times, so the size of a part is counted before the part is
  // written.
  bool room(std::size_t bytes) {
    written_ += bytes;
    f_.spend(8 + 2 * (bytes > 64 ? bytes : 0));
    too_much = !f_.room_for(written_);
    return !too_much && f_.work > 0;
  }

  bool read_precision(std::string_view format, std::size_t& i, int& precision) {
    const std::size_t start = ++i;
    precision = 0;
    while (i < format.size() && format[i] >= '0' && format[i] <= '9') {
      precision = precision * 10 + (format[i++] - '0');
      if (precision > 1000) return fail("error while parsing precision: value out of range");
    }
    if (i >= format.size()) return fail("could not find end of precision specifier");
    if (i == start) return fail("error while parsing precision: invalid syntax");
    return true;
  }

  bool clause(char verb, int precision, const Value& v) {
    if (verb != 's' &&
        !room(static_cast<std::size_t>(precision) +
              (v.kind == Kind::kString || v.kind == Kind::kBytes ? 2 * v.string().size() : 80)))
      return false;
    switch (verb) {
      case 's':
        return text(v, false);
      case 'd':
        return decimal(v);
      case 'f':
      case 'e':
        return real(v, verb, precision);
      case 'b':
        return based(v, 2, false,
                     localized_ ? "only integers and bools can be formatted as binary"
                                : "only ints, uints, and bools can be formatted as binary");
      case 'o':
        return based(v, 8, false,
                     localized_ ? "octal clause can only be used on integers"
                                : "octal clause can only be used on ints and uints");
      case 'x':
      case 'X':
        return hexadecimal(v, verb == 'X');
      default:
        return fail(cat("could not parse formatting clause: unrecognized formatting clause ",
                        quoted(std::string(1, verb))));
    }
  }

  std::string fixed(double d, int precision) {
    std::vector<char> buffer(static_cast<std::size_t>(precision) + 400);
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), d,
                                   std::chars_format::fixed, precision)
                         .ptr;
    return {buffer.data(), end};
  }
  std::string plain(double d) {
    char buffer[1200];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, d, std::chars_format::fixed).ptr;
    return {buffer, end};
  }

  // The name of a value that is not a number (NaN, infinities), or "".
  std::string special(double d) {
    if (std::isnan(d)) return "NaN";
    if (std::isinf(d))
      return localized_ ? (d > 0 ? "∞" : "-∞") : (d > 0 ? "Infinity" : "-Infinity");
    return "";
  }

  bool real(const Value& v, char verb, int precision) {
    double d = 0;
    if (v.kind == Kind::kDouble)
      d = v.real;
    else if (!localized_ && v.kind == Kind::kInt)
      d = static_cast<double>(v.integer);
    else if (!localized_ && v.kind == Kind::kUint)
      d = static_cast<double>(v.natural);
    else if (localized_ && v.is_string() &&
             (v.string() == "NaN" || v.string() == "Infinity" || v.string() == "-Infinity"))
      d = v.string() == "NaN" ? std::nan("") : v.string() == "Infinity" ? HUGE_VAL : -HUGE_VAL;
    else
      return unfit(cat(verb == 'f' ? "fixed-point" : "scientific", " clause can only be used on ",
                       localized_ ? "doubles" : "ints, uints, and doubles"),
                   v);
    if (const std::string name = special(d); !name.empty()) {
      // Kubernetes' version fills the scientific form up to the precision.
      const auto missing = precision - static_cast<int>(code_points(name));
      if (localized_ && verb == 'e' && missing > 0)
        out.append(static_cast<std::size_t>(missing), ' ');
      out += name;
      return true;
    }
    if (verb == 'f') {
      out += localized_ ? grouped(fixed(d, precision)) : fixed(d, precision);
      return true;
    }
    if (localized_) precision = 6;  // for every precision, as in Kubernetes' version of the library
    std::vector<char> buffer(static_cast<std::size_t>(precision) + 40);
    std::snprintf(buffer.data(), buffer.size(), "%.*e", precision, d);
    out += localized_ ? power_of_ten(buffer.data()) : std::string(buffer.data());
    return true;
  }

  static std::string grouped(const std::string& number) {
    const std::size_t first = number.starts_with('-') ? 1 : 0;
    const std::size_t point = std::min(number.find('.'), number.size());
    std::string made = number.substr(0, first);
    for (std::size_t i = first; i < point; ++i) {
      if (i > first && (point - i) % 3 == 0) made += ',';
      made += number[i];
    }
    return made + number.substr(point);
  }

  static std::string power_of_ten(const std::string& number) {
    static constexpr std::string_view kSuper[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    const std::size_t e = number.find('e');
    std::string made = number.substr(0, e) + "×10";
    for (const char c : number.substr(e + 1)) {
      if (c == '-')
        made += "⁻";
      else if (c != '+')
        made += kSuper[c - '0'];
    }
    return made;
  }

  bool decimal(const Value& v) {
    if (v.kind == Kind::kInt)
      out += std::to_string(v.integer);
    else if (v.kind == Kind::kUint)
      out += std::to_string(v.natural);
    else if (!localized_ && v.kind == Kind::kDouble)
      out += special(v.real).empty() ? plain(v.real) : special(v.real);
    else
      return unfit(cat("decimal clause can only be used on ",
                       localized_ ? "integers" : "ints, uints, and doubles"),
                   v);
    return true;
  }

  bool based(const Value& v, int base, bool upper, std::string_view problem) {
    char buffer[80];
    char* end = buffer;
    if (v.kind == Kind::kInt)
      end = std::to_chars(buffer, buffer + sizeof buffer, v.integer, base).ptr;
    else if (v.kind == Kind::kUint)
      end = std::to_chars(buffer, buffer + sizeof buffer, v.natural, base).ptr;
    else if (v.kind == Kind::kBool && base == 2)
      *end++ = v.boolean ? '1' : '0';
    else
      return unfit(problem, v);
    std::string digits(buffer, end);
    if (upper)
      std::ranges::transform(digits, digits.begin(), [](char c) {
        return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
      });
    out += digits;
    return true;
  }

  bool hexadecimal(const Value& v, bool upper) {
    if (v.kind != Kind::kString && v.kind != Kind::kBytes)
      return based(v, 16, upper,
                   localized_ ? "only integers, byte buffers, and strings can be formatted as hex"
                              : "only ints, uints, bytes, and strings can be formatted as hex");
    const char* digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
    for (const char c : v.string()) {
      out += digits[static_cast<unsigned char>(c) >> 4];
      out += digits[c & 15];
    }
    return true;
  }

  // %s of any value. The localized form quotes the texts inside lists and maps.
  bool text(const Value& v, bool inside) {
    const bool quotes = localized_ && inside;
    if (!room(v.kind == Kind::kString || v.kind == Kind::kBytes ? v.string().size() + 2 : 3))
      return false;
    switch (v.kind) {
      case Kind::kNull:
        out += "null";
        return true;
      case Kind::kBool:
        out += v.boolean ? "true" : "false";
        return true;
      case Kind::kInt:
        out += std::to_string(v.integer);
        return true;
      case Kind::kUint:
        out += std::to_string(v.natural);
        return true;
      case Kind::kDouble:
        return double_text(v.real, inside);
      case Kind::kString:
        out += quotes ? go_quote(v.string()) : std::string(v.string());
        return true;
      case Kind::kBytes:
        out += quotes ? "b" + go_quote(v.string()) : std::string(v.string());
        return true;
      case Kind::kTimestamp:
        out += quotes ? cat("timestamp(", go_quote(print_timestamp(v)), ")") : print_timestamp(v);
        return true;
      case Kind::kDuration:
        out += quotes ? cat("duration(", go_quote(print_duration(v.integer)), ")")
                      : print_duration(v.integer);
        return true;
      case Kind::kType:
        out += quotes ? cat("type(", v.string(), ")") : std::string(v.string());
        return true;
      case Kind::kList:
        out += "[";
        for (std::uint32_t i = 0; i < v.size; ++i) {
          if (i > 0) out += ", ";
          if (!text(list_at(v, i), true)) return false;
        }
        out += "]";
        return true;
      case Kind::kMap:
        return map_text(v);
      default:
        return unfit(
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
            "types, durations, and timestamps",
            v);
    }
  }

  bool double_text(double d, bool inside) {
    if (!localized_)
      out += special(d).empty() ? plain(d) : special(d);
    else if (!inside)
      out += format_double(d);
    else if (std::isfinite(d))
      out += fixed(d, 6);
    else
      out += std::isnan(d) ? "\"NaN\"" : d > 0 ? "\"+Inf\"" : "\"-Inf\"";
    return true;
  }

  bool map_text(const Value& v) {
    std::vector<std::pair<std::string, std::string>> entries;
    for (std::uint32_t i = 0; i < v.size; ++i) {
      f_.spend(20);  // its own texts, and sorting them
      std::string before;
      std::swap(before, out);
      const bool key_fine = text(map_key(v, i), true);
      std::string key = std::move(out);
      out.clear();
      const bool fine = key_fine && text(map_value(v, i), true);
      entries.emplace_back(std::move(key), std::move(out));
      out = std::move(before);
      if (!fine) return false;
    }
    std::ranges::stable_sort(entries, {}, &std::pair<std::string, std::string>::first);
    out += "{";
    for (std::size_t i = 0; i < entries.size(); ++i)
      out += cat(i > 0 ? ", " : "", entries[i].first, localized_ ? ":" : ": ", entries[i].second);
    out += "}";
    return true;
  }

  Frame& f_;
  const bool localized_;
  std::size_t written_ = 0;
};

Value format(Frame& f, const Value* args, bool localized) {
  Formatter formatter(f, localized);
  const bool made = formatter.run(args[0].string(), args[1]);
  if (formatter.too_much) return f.over_memory();
  if (f.work == 0) return f.over_cost();
  if (!made) return f.error(formatter.why);
  return f.text(formatter.out);
}

}  // namespace

Value format_text(Frame& f, const Value* args, std::size_t) {
  return format(f, args, false);
}
Value format_text_localized(Frame& f, const Value* args, std::size_t) {
  return format(f, args, true);
}

namespace {

bool clause_takes(char verb, Type::Kind kind, bool localized) {
  auto any_of = [&](std::initializer_list<Type::Kind> kinds) {
    return std::ranges::find(kinds, kind) != kinds.end();
  };
  if (any_of({Type::kDyn, Type::kError, Type::kParam})) return true;
  switch (verb) {
    case 'd':
      return any_of({Type::kInt, Type::kUint}) || (!localized && kind == Type::kDouble);
    case 'f':
    case 'e':
      return any_of({Type::kDouble}) ||
             (localized ? kind == Type::kString : any_of({Type::kInt, Type::kUint}));
    case 'b':
      return any_of({Type::kInt, Type::kUint, Type::kBool});
    case 'o':
      return any_of({Type::kInt, Type::kUint});
    case 'x':
    case 'X':
      return any_of({Type::kInt, Type::kUint, Type::kString, Type::kBytes});
    default:
      return !any_of({Type::kOptional, Type::kOpaque, Type::kObject});
  }
}

}  // namespace

bool check_format(std::string_view format, const std::vector<Type::Kind>* kinds, bool localized,
                  std::string& why, std::size_t& at) {
  at = kinds == nullptr ? 0 : kinds->size();
  std::size_t used = 0;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') continue;
    if (++i >= format.size()) return why = "unexpected end of string", false;
    if (format[i] == '%') continue;
    if (format[i] == '.') {
      const std::size_t start = ++i;
      while (i < format.size() && format[i] >= '0' && format[i] <= '9') ++i;
      if (i >= format.size()) return why = "could not find end of precision specifier", false;
      if (i == start)
        return why =
                   "could not parse formatting clause: error while parsing precision: invalid "
                   "syntax",
               false;
    }
    if (std::string_view("sdfebxXo").find(format[i]) == std::string_view::npos)
      return why = cat("could not parse formatting clause: unrecognized formatting clause ",
                       quoted(std::string(1, format[i]))),
             false;
    if (kinds != nullptr) {
      if (used >= kinds->size()) return why = cat("index ", used, " out of range"), false;
      if (!clause_takes(format[i], (*kinds)[used], localized)) {
        at = used;
        why = cat("error during formatting: clause '", std::string(1, format[i]),
                  "' cannot take this argument");
        return false;
      }
    }
    ++used;
  }
  if (kinds != nullptr && used < kinds->size())
    return why = cat("too many arguments supplied to string.format (expected ", used, ", got ",
                     kinds->size(), ")"),
           false;
  return true;
}

}  // namespace cardea::cel
