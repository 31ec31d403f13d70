#include <algorithm>
#include <cstdint>

#include "base/strings.h"
#include "json/print.h"
#include "json/yaml.h"

namespace cardea::json {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}

// A number inside a text, from `at` on.
struct Digits {
  std::uint64_t value = 0;
  std::size_t end = 0;
};
Digits digits_at(std::string_view text, std::size_t at, std::uint64_t carried) {
  Digits d{carried, at};
  while (d.end < text.size() && is_digit(text[d.end]))
    d.value = d.value * 10 + static_cast<std::uint64_t>(text[d.end++] - '0');
  return d;
}

// Numbers inside keys count as numbers, and letters come after everything else, but before what
// goes on a number.
bool comes_before(std::string_view a, std::string_view b) {
  bool in_number = false;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (a[i] == b[i]) {
      in_number = is_digit(a[i]);
      continue;
    }
    bool a_letter = is_letter(a[i]), b_letter = is_letter(b[i]);
    if (a_letter && b_letter)
      return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[i]);
    if (a_letter || b_letter) return in_number ? a_letter : b_letter;
    // A zero that goes on a number is part of it: 10 and 1 differ by more than their next
    // characters.
    std::uint64_t carried = 0;
    if (a[i] == '0' || b[i] == '0')
      for (std::size_t j = i; j-- > 0 && is_digit(a[j]);)
        if (a[j] != '0') carried = 1;
    Digits in_a = digits_at(a, i, carried), in_b = digits_at(b, i, carried);
    if (in_a.value != in_b.value) return in_a.value < in_b.value;
    if (in_a.end != in_b.end) return in_a.end < in_b.end;
    return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[i]);
  }
  return a.size() < b.size();
}

bool looks_like_a_time(std::string_view text) {
  return text.size() >= 8 && is_digit(text[0]) && is_digit(text[1]) && is_digit(text[2]) &&
         is_digit(text[3]) && text[4] == '-';
}

bool is_printable(std::string_view text) {
  return std::ranges::none_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

// Whether the text can stand unquoted without changing what surrounds it.
bool is_plain(std::string_view text) {
  if (text.empty() || text.front() == ' ' || text.back() == ' ') return false;
  if (std::string_view("#,[]{}&*!|>'\"%@`").find(text[0]) != std::string_view::npos) return false;
  if (text.starts_with("---") || text.starts_with("...")) return false;
  bool is_marker = text[0] == '-' || text[0] == '?' || text[0] == ':';
  if (is_marker && (text.size() == 1 || text[1] == ' ')) return false;
  return text.find(": ") == std::string_view::npos && text.find(" #") == std::string_view::npos &&
         !text.ends_with(':');
}

void append_literal(std::string& out, std::string_view text, std::size_t indent) {
  out += '|';
  if (text[0] == ' ' || text[0] == '\n')
    out += '2';  // how far it is indented cannot be seen from its first line
  if (!text.ends_with('\n'))
    out += '-';
  else if (text.size() == 1 || text.ends_with("\n\n"))
    out += '+';
  std::string_view body = text.ends_with('\n') ? text.substr(0, text.size() - 1) : text;
  for (std::string_view line : split(body, '\n')) {
    out += '\n';
    if (!line.empty()) out.append(indent, ' ').append(line);
  }
}

bool can_be_literal(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char c = static_cast<unsigned char>(text[i]);
    if ((c < 0x20 && c != '\n') || c == 0x7f) return false;
    if (c == ' ' && (i + 1 == text.size() || text[i + 1] == '\n')) return false;
  }
  return true;
}

void append_scalar(std::string& out, std::string_view text, std::size_t indent, bool is_key) {
  if (text.find('\n') != std::string_view::npos) {
    if (!is_key && can_be_literal(text))
      append_literal(out, text, indent);
    else
      out += quoted(text);
  } else if (!yaml_reads_as_string(text) || looks_like_a_time(text) || !is_printable(text)) {
    out += print(Value(text));
  } else if (is_plain(text)) {
    out += text;
  } else {
    out += '\'';
    for (char c : text) {
      if (c == '\'') out += '\'';
      out += c;
    }
    out += '\'';
  }
}

void append(std::string& out, const Value& value, std::size_t indent, bool after_key) {
  bool first = !after_key;
  auto begin_line = [&] {
    if (!first) out.append("\n").append(indent, ' ');
    first = false;
  };
  if (value.is_object() && !value.empty()) {
    std::vector<const Member*> members;
    for (const Member& m : value.members()) members.push_back(&m);
    std::ranges::stable_sort(
        members, [](const Member* a, const Member* b) { return comes_before(a->key(), b->key()); });
    for (const Member* m : members) {
      begin_line();
      append_scalar(out, m->key(), indent, true);
      out += ':';
      bool nested = (m->value.is_object() || m->value.is_array()) && !m->value.empty();
      if (!nested) out += ' ';
      append(out, m->value, m->value.is_array() ? indent : indent + 2, true);
    }
  } else if (value.is_array() && !value.empty()) {
    for (const Value& item : value.items()) {
      begin_line();
      out += "- ";
      append(out, item, indent + 2, false);
    }
  } else if (value.is_string()) {
    append_scalar(out, value.as_string(), indent, false);
  } else {
    print_to(out, value);  // JSON's other scalars are YAML too
  }
}

}  // namespace

std::string print_yaml(const Value& value) {
  std::string out;
  append(out, value, 0, false);
  if (!out.ends_with('\n')) out += '\n';
  return out;
}

}  // namespace cardea::json
