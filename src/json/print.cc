#include "json/print.h"

#include <array>
#include <charconv>
#include <cmath>

#include "json/print_as_go.h"

namespace cardea::json {
namespace {

void print_double_to(std::string& out, double d) {
  if (!std::isfinite(d)) {
    out += "null";
    return;
  }
  if (d == 0) {
    out += '0';  // a negative zero would read back as the integer
    return;
  }
  double magnitude = std::fabs(d);
  bool exponent = (magnitude < 1e-6 || magnitude >= 1e21);
  char buffer[400];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, d,
                           exponent ? std::chars_format::scientific : std::chars_format::fixed)
                 .ptr;
  std::string_view text(buffer, static_cast<std::size_t>(end - buffer));
  // Go writes 1e-7 where the standard library writes 1e-07.
  auto n = text.size();
  if (exponent && n >= 4 && text[n - 4] == 'e' && text[n - 3] == '-' && text[n - 2] == '0') {
    out += text.substr(0, n - 2);
    out += text[n - 1];
  } else {
    out += text;
  }
}

enum class Texts { kPlain, kAsGo };

// Whether a byte may have to be written in another way than as it is.
using Special = std::array<bool, 256>;
constexpr Special special_bytes(Texts texts) {
  Special out{};
  for (std::size_t c = 0; c < 0x20; ++c) out[c] = true;
  for (char c : std::string_view("\"\\")) out[static_cast<unsigned char>(c)] = true;
  if (texts == Texts::kAsGo)
    for (char c : std::string_view("<>&\xe2")) out[static_cast<unsigned char>(c)] = true;
  return out;
}

void escape_to(std::string& out, char c) {
  constexpr char kHex[] = "0123456789abcdef";
  out += '\\';
  switch (c) {
    case '"':
    case '\\':
      out += c;
      break;
    case '\b':
      out += 'b';
      break;
    case '\f':
      out += 'f';
      break;
    case '\n':
      out += 'n';
      break;
    case '\r':
      out += 'r';
      break;
    case '\t':
      out += 't';
      break;
    default:
      out += "u00";
      out += kHex[static_cast<unsigned char>(c) >> 4];
      out += kHex[c & 15];
  }
}

template <Texts kTexts>
void text_to(std::string& out, std::string_view text) {
  static constexpr Special kSpecial = special_bytes(kTexts);
  out += '"';
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!kSpecial[static_cast<unsigned char>(text[i])]) continue;
    if (text[i] == '\xe2') {
      std::string_view end = text.substr(i, 3);
      if (end != "\xe2\x80\xa8" && end != "\xe2\x80\xa9") continue;
      out.append(text, start, i - start);
      out += end.back() == '\xa8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      out.append(text, start, i - start);
      escape_to(out, text[i]);
    }
    start = i + 1;
  }
  out.append(text, start, text.size() - start);
  out += '"';
}

template <Texts kTexts>
void value_to(std::string& out, const Value& value);

template <Texts kTexts>
void members_to(std::string& out, const Value& object, bool skip_leading) {
  for (const Member& m : object.members()) {
    if (skip_leading && (m.key() == "kind" || m.key() == "apiVersion" || m.key() == "metadata"))
      continue;
    if (out.back() != '{') out += ',';
    text_to<kTexts>(out, m.key());
    out += ':';
    value_to<kTexts>(out, m.value);
  }
}

template <Texts kTexts>
void value_to(std::string& out, const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kNull:
      out += "null";
      break;
    case Value::Kind::kBool:
      out += value.as_bool() ? "true" : "false";
      break;
    case Value::Kind::kInt: {
      char buffer[24];
      out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value.as_int()).ptr);
      break;
    }
    case Value::Kind::kDouble:
      print_double_to(out, value.as_double());
      break;
    case Value::Kind::kString:
      text_to<kTexts>(out, value.as_string());
      break;
    case Value::Kind::kArray: {
      out += '[';
      bool first = true;
      for (const Value& item : value.items()) {
        if (!first) out += ',';
        first = false;
        value_to<kTexts>(out, item);
      }
      out += ']';
      break;
    }
    case Value::Kind::kObject:
      out += '{';
      members_to<kTexts>(out, value, false);
      out += '}';
      break;
  }
}

}  // namespace

void print_string_to(std::string& out, std::string_view text) {
  text_to<Texts::kPlain>(out, text);
}

void print_to(std::string& out, const Value& value) {
  value_to<Texts::kPlain>(out, value);
}

std::string print(const Value& value) {
  std::string out;
  print_to(out, value);
  return out;
}

void print_string_as_go_to(std::string& out, std::string_view text) {
  text_to<Texts::kAsGo>(out, text);
}

void print_as_go_to(std::string& out, const Value& value) {
  value_to<Texts::kAsGo>(out, value);
}

std::string print_as_go(const Value& value) {
  std::string out;
  print_as_go_to(out, value);
  return out;
}

std::string print_object(const Value& object) {
  if (!object.is_object()) return print_as_go(object);
  std::string out = "{";
  for (std::string_view key : {"kind", "apiVersion", "metadata"}) {
    const Value* v = object.find(key);
    if (!v) continue;
    if (out.size() > 1) out += ',';
    print_string_to(out, key);
    out += ':';
    print_as_go_to(out, *v);
  }
  members_to<Texts::kAsGo>(out, object, true);
  out += '}';
  return out;
}

std::string_view go_kind(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kNull:
      return "null";
    case Value::Kind::kBool:
      return "bool";
    case Value::Kind::kInt:
    case Value::Kind::kDouble:
      return "number";
    case Value::Kind::kString:
      return "string";
    case Value::Kind::kArray:
      return "array";
    case Value::Kind::kObject:
      return "object";
  }
  return "";
}

}  // namespace cardea::json
