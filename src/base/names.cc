#include "base/names.h"

#include "base/strings.h"

namespace cardea {
namespace {

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_lower_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

// ([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]
bool is_qualified_part(std::string_view text) {
  if (text.empty() || !is_alphanumeric(text.front()) || !is_alphanumeric(text.back())) return false;
  for (char c : text)
    if (!is_alphanumeric(c) && c != '-' && c != '_' && c != '.') return false;
  return true;
}

bool is_dns_subdomain(std::string_view text) {
  for (std::string_view label : split(text, '.')) {
    if (label.empty() || !is_lower_alphanumeric(label.front()) ||
        !is_lower_alphanumeric(label.back()))
      return false;
    for (char c : label)
      if (!is_lower_alphanumeric(c) && c != '-') return false;
  }
  return true;
}

constexpr std::string_view kQualifiedForm =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

}  // namespace

// Kubernetes counts the same in two words.
static Problems subdomain_problems(std::string_view name, std::string_view unit) {
  Problems problems;
  if (name.size() > 253) problems.push_back(cat("must be no more than 253 ", unit));
  if (!is_dns_subdomain(name))
    problems.push_back(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
        "'.', and must "
        "start and end with an alphanumeric character (e.g. 'example.com', regex used for "
        "validation is "
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')");
  return problems;
}

Problems dns_subdomain_problems(std::string_view name) {
  return subdomain_problems(name, "characters");
}

Problems label_key_problems(std::string_view key) {
  Problems problems;
  auto parts = split(key, '/');
  if (parts.size() > 2) {
    problems.push_back(
        cat("a valid label key ", kQualifiedForm,
            " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"));
    return problems;
  }
  if (parts.size() == 2) {
    if (parts[0].empty())
      problems.push_back("prefix part must be non-empty");
    else
      for (const std::string& p : subdomain_problems(parts[0], "bytes"))
        problems.push_back("prefix part " + p);
  }
  std::string_view name = parts.back();
  if (name.empty()) problems.push_back("name part must be non-empty");
  if (name.size() > 63) problems.push_back("name part must be no more than 63 bytes");
  if (!is_qualified_part(name)) problems.push_back(cat("name part ", kQualifiedForm));
  return problems;
}

Problems label_value_problems(std::string_view value) {
  Problems problems;
  if (value.size() > 63) problems.push_back("must be no more than 63 bytes");
  if (!value.empty() && !is_qualified_part(value))
    problems.push_back(
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
        "'.', and must "
        "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
        "'12345', regex used "
        "for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')");
  return problems;
}

Problems dns_label_problems(std::string_view name) {
  Problems problems;
  if (name.size() > 63) problems.push_back("must be no more than 63 characters");
  if (!is_dns_subdomain(name))
    problems.push_back(
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
        "must start and "
        "end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for "
        "validation is "
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')");
  else if (name.find('.') != name.npos)
    problems.push_back("must not contain dots");
  return problems;
}

Problems dns_1035_label_problems(std::string_view name) {
  Problems problems;
  if (name.size() > 63) problems.push_back("must be no more than 63 characters");
  bool digit_first = !name.empty() && name[0] >= '0' && name[0] <= '9';
  if (digit_first || name.find('.') != name.npos || !is_dns_subdomain(name))
    problems.push_back(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
        "alphabetic "
        "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex "
        "used for "
        "validation is '[a-z]([-a-z0-9]*[a-z0-9])?')");
  return problems;
}

Problems path_segment_problems(std::string_view name, bool prefix) {
  if (!prefix && (name == "." || name == "..")) return {cat("may not be '", name, "'")};
  Problems problems;
  for (char c : {'/', '%'})
    if (name.find(c) != name.npos) problems.push_back(cat("may not contain '", c, "'"));
  return problems;
}

}  // namespace cardea
