#include "json/print.h"

#include <charconv>
#include <cmath>

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

void print_members_to(std::string& out, const Value& object, bool skip_leading) {
  for (const Member& m : object.members()) {
    if (skip_leading && (m.key() == "kind" || m.key() == "apiVersion" || m.key() == "metadata"))
      continue;
    if (out.back() != '{') out += ',';
    print_string_to(out, m.key());
    out += ':';
    print_to(out, m.value);
  }
}

}  // namespace

void print_string_to(std::string& out, std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c != '"' && c != '\\') continue;
    out.append(text, start, i - start);
    start = i + 1;
    out += '\\';
    switch (c) {
      case '"':
        out += '"';
        break;
      case '\\':
        out += '\\';
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
        out += kHex[c >> 4];
        out += kHex[c & 15];
    }
  }
  out.append(text, start, text.size() - start);
  out += '"';
}

void print_to(std::string& out, const Value& value) {
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
      print_string_to(out, value.as_string());
      break;
    case Value::Kind::kArray: {
      out += '[';
      bool first = true;
      for (const Value& item : value.items()) {
        if (!first) out += ',';
        first = false;
        print_to(out, item);
      }
      out += ']';
      break;
    }
    case Value::Kind::kObject:
      out += '{';
      print_members_to(out, value, false);
      out += '}';
      break;
  }
}

std::string print(const Value& value) {
  std::string out;
  print_to(out, value);
  return out;
}

std::string print_object(const Value& object) {
  if (!object.is_object()) return print(object);
  std::string out = "{";
  for (std::string_view key : {"kind", "apiVersion", "metadata"}) {
    const Value* v = object.find(key);
    if (!v) continue;
    if (out.size() > 1) out += ',';
    print_string_to(out, key);
    out += ':';
    print_to(out, *v);
  }
  print_members_to(out, object, true);
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
