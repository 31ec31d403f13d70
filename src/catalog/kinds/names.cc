#include "catalog/kinds/names.h"

#include <algorithm>

#include "base/strings.h"

namespace cardea::catalog {
namespace {

constexpr std::string_view kDns1123Label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
constexpr std::string_view
    kDns1123Subdomain = R"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)";
constexpr std::string_view kDns1123SubdomainWithUnderscore =
    R"(_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*)";
constexpr std::string_view kQualifiedName = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_lower_alnum(char c) {
  return is_lower(c) || is_digit(c);
}
bool is_alnum(char c) {
  return is_lower(c) || is_upper(c) || is_digit(c);
}
bool is_name_char(char c) {
  return is_alnum(c) || c == '-' || c == '_' || c == '.';
}

bool matches_label(std::string_view s) {
  return !s.empty() && is_lower_alnum(s.front()) && is_lower_alnum(s.back()) &&
         std::ranges::all_of(s, [](char c) { return is_lower_alnum(c) || c == '-'; });
}

bool matches_underscore_label(std::string_view s) {
  if (s.starts_with('_')) s.remove_prefix(1);
  return !s.empty() && is_lower_alnum(s.front()) && is_lower_alnum(s.back()) &&
         std::ranges::all_of(s, [](char c) { return is_lower_alnum(c) || c == '-' || c == '_'; });
}

template <typename Check>
bool every_part(std::string_view s, Check check) {
  while (true) {
    std::size_t dot = s.find('.');
    if (!check(s.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    s.remove_prefix(dot + 1);
  }
}

bool matches_subdomain(std::string_view s) {
  return every_part(s, matches_label);
}

bool matches_1035_label(std::string_view s) {
  return matches_label(s) && is_lower(s.front());
}

bool matches_qualified_name(std::string_view s) {
  return !s.empty() && is_alnum(s.front()) && is_alnum(s.back()) &&
         std::ranges::all_of(s, is_name_char);
}

Complaints bounded(std::string_view text, std::size_t max, bool ok, const auto& complaint) {
  Complaints out;
  if (text.size() > max) out.push_back(max_length_error(static_cast<int>(max)));
  if (!ok) out.push_back(complaint());
  return out;
}

std::string subdomain_error() {
  return regex_error(
      "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
      "'.', and "
      "must "
      "start and end with an alphanumeric character",
      kDns1123Subdomain, {"example.com"});
}

std::string qualified_name_error() {
  return regex_error(
      "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
      "alphanumeric "
      "character",
      kQualifiedName, {"MyName", "my.name", "123-abc"});
}

// The names `.` and `..` would lead out of the folder of the keys.
void forbid_parent_directory(std::string_view text, Complaints& out) {
  if (text == ".")
    out.emplace_back("must not be '.'");
  else if (text == "..")
    out.emplace_back("must not be '..'");
  else if (text.starts_with(".."))
    out.emplace_back("must not start with '..'");
}

// Kubernetes replaces the last two characters of a prefix that ends with a dash.
std::string mask_trailing_dash(std::string_view name, bool prefix) {
  if (!prefix || name.size() < 2 || !name.ends_with('-')) return std::string(name);
  return cat(name.substr(0, name.size() - 2), "a");
}

}  // namespace

std::string max_length_error(int length) {
  return cat("must be no more than ", length, " characters");
}

std::string inclusive_range_error(std::int64_t low, std::int64_t high) {
  return cat("must be between ", low, " and ", high, ", inclusive");
}

std::string regex_error(std::string_view message, std::string_view expression,
                        const std::vector<std::string>& examples) {
  if (examples.empty()) return cat(message, " (regex used for validation is '", expression, "')");
  std::string out = cat(message, " (e.g. ");
  for (std::size_t i = 0; i < examples.size(); ++i) {
    if (i > 0) out += " or ";
    out += cat("'", examples[i], "', ");
  }
  return cat(out, "regex used for validation is '", expression, "')");
}

Complaints name_is_dns_subdomain(std::string_view name, bool prefix) {
  return dns1123_subdomain(mask_trailing_dash(name, prefix));
}
Complaints name_is_dns_label(std::string_view name, bool prefix) {
  return dns1123_label(mask_trailing_dash(name, prefix));
}
Complaints name_is_dns1035_label(std::string_view name, bool prefix) {
  return dns1035_label(mask_trailing_dash(name, prefix));
}

Complaints name_is_path_segment(std::string_view name, bool prefix) {
  if (!prefix && (name == "." || name == "..")) return {cat("may not be '", name, "'")};
  Complaints out;
  for (char c : {'/', '%'})
    if (name.find(c) != std::string_view::npos) out.push_back(cat("may not contain '", c, "'"));
  return out;
}

NameCheck name_check(Strategy::NameRule rule) {
  switch (rule) {
    case Strategy::NameRule::kDnsSubdomain:
      return name_is_dns_subdomain;
    case Strategy::NameRule::kDnsLabel:
      return name_is_dns_label;
    case Strategy::NameRule::kDns1035Label:
      return name_is_dns1035_label;
    case Strategy::NameRule::kPathSegment:
      return name_is_path_segment;
  }
  return name_is_dns_subdomain;
}

Complaints dns1123_label(std::string_view text) {
  return bounded(text, 63, matches_label(text), [&]() -> std::string {
    if (matches_subdomain(text)) return "must not contain dots";
    return regex_error(
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
        "must "
        "start and "
        "end with an alphanumeric character",
        kDns1123Label, {"my-name", "123-abc"});
  });
}

Complaints dns1123_subdomain(std::string_view text) {
  return bounded(text, 253, matches_subdomain(text), subdomain_error);
}

Complaints dns1123_subdomain_caseless(std::string_view text) {
  return bounded(text, 253, matches_subdomain(lower(text)), [] {
    return regex_error(
        "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start "
        "and end "
        "with an "
        "alphanumeric character",
        kDns1123Subdomain, {"Example.com"});
  });
}

Complaints dns1123_subdomain_with_underscore(std::string_view text) {
  return bounded(text, 253, every_part(text, matches_underscore_label), [] {
    return regex_error(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', "
        "'-' or '.', "
        "and "
        "must start and end with an alphanumeric character",
        kDns1123SubdomainWithUnderscore, {"example.com"});
  });
}

Complaints dns1035_label(std::string_view text) {
  return bounded(text, 63, matches_1035_label(text), [] {
    return regex_error(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
        "alphabetic "
        "character, and end with an alphanumeric character",
        "[a-z]([-a-z0-9]*[a-z0-9])?", {"my-name", "abc-123"});
  });
}

Complaints wildcard_dns1123_subdomain(std::string_view text) {
  return bounded(text, 253, text.starts_with("*.") && matches_subdomain(text.substr(2)), [] {
    return regex_error(
        "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, "
        "which must "
        "consist "
        "of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
        cat(R"(\*\.)", kDns1123Subdomain), {"*.example.com"});
  });
}

// Labels are measured in bytes; otherwise the words are the same.
static Complaints in_bytes(Complaints complaints) {
  constexpr std::string_view kCharacters = " characters";
  for (std::string& c : complaints)
    if (c.starts_with("must be no more than ") && c.ends_with(kCharacters))
      c.replace(c.size() - kCharacters.size(), kCharacters.size(), " bytes");
  return complaints;
}

Complaints qualified_name(std::string_view text) {
  Complaints out;
  std::string_view name = text;
  if (std::size_t slash = text.find('/'); slash != std::string_view::npos) {
    if (text.find('/', slash + 1) != std::string_view::npos)
      return {cat("a valid label key ", qualified_name_error(),
                  " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')")};
    std::string_view prefix = text.substr(0, slash);
    name = text.substr(slash + 1);
    if (prefix.empty())
      out.push_back(cat("prefix part ", kMustBeNonEmpty));
    else
      for (const std::string& message : in_bytes(dns1123_subdomain(prefix)))
        out.push_back(cat("prefix part ", message));
  }
  if (name.empty()) out.push_back(cat("name part ", kMustBeNonEmpty));
  if (name.size() > 63) out.push_back("name part must be no more than 63 bytes");
  if (!matches_qualified_name(name)) out.push_back(cat("name part ", qualified_name_error()));
  return out;
}

Complaints label_value(std::string_view text) {
  return in_bytes(bounded(text, 63, text.empty() || matches_qualified_name(text), [] {
    return regex_error(
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
        "'.', and "
        "must "
        "start and end with an alphanumeric character",
        cat("(", kQualifiedName, ")?"), {"MyValue", "my_value", "12345"});
  }));
}

Complaints c_identifier(std::string_view text) {
  if (!text.empty() && !is_digit(text.front()) &&
      std::ranges::all_of(text, [](char c) { return is_alnum(c) || c == '_'; }))
    return {};
  return {regex_error(
      "a valid C identifier must start with alphabetic character or '_', followed by a string of "
      "alphanumeric "
      "characters or '_'",
      "[A-Za-z_][A-Za-z0-9_]*", {"my_name", "MY_NAME", "MyName"})};
}

Complaints env_var_name(std::string_view text) {
  if (text.empty()) return {cat("environment variable name ", kMustBeNonEmpty)};
  if (std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~' && c != '='; })) return {};
  return {
      "a valid environment variable name must consist only of printable ASCII characters other "
      "than '='"};
}

Complaints config_map_key(std::string_view text) {
  Complaints out = bounded(text, 253, !text.empty() && std::ranges::all_of(text, is_name_char), [] {
    return regex_error(
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
        "[-._a-zA-Z0-9]+", {"key.name", "KEY_NAME", "key-name"});
  });
  forbid_parent_directory(text, out);
  return out;
}

Complaints http_header_name(std::string_view text) {
  if (!text.empty() && std::ranges::all_of(text, [](char c) { return is_alnum(c) || c == '-'; }))
    return {};
  return {regex_error("a valid HTTP header must consist of alphanumeric characters or '-'",
                      "[-A-Za-z0-9]+", {"X-Header-Name"})};
}

Complaints percent(std::string_view text) {
  if (text.size() > 1 && text.ends_with('%') &&
      std::ranges::all_of(text.substr(0, text.size() - 1), is_digit))
    return {};
  return {regex_error("a valid percent string must be a numeric string followed by an ending '%'",
                      "[0-9]+%", {"1%", "93%"})};
}

Complaints condition_reason(std::string_view text) {
  auto inside = [](char c) { return is_alnum(c) || c == '_' || c == ',' || c == ':'; };
  if (!text.empty() && (is_lower(text.front()) || is_upper(text.front())) &&
      (is_alnum(text.back()) || text.back() == '_') && std::ranges::all_of(text, inside))
    return {};
  return {regex_error(
      "a condition reason must start with alphabetic character, optionally followed by a string "
      "of alphanumeric "
      "characters or '_,:', and must end with an alphanumeric character or '_'",
      "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?",
      {"my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB"})};
}

Complaints in_range(std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) return {};
  return {inclusive_range_error(low, high)};
}
Complaints port_number(std::int64_t port) {
  return in_range(port, 1, 65535);
}
Complaints user_id(std::int64_t id) {
  return in_range(id, 0, 2147483647);
}
Complaints group_id(std::int64_t id) {
  return in_range(id, 0, 2147483647);
}

Complaints port_name(std::string_view text) {
  Complaints out;
  if (text.size() > 15) out.push_back(max_length_error(15));
  if (text.empty() ||
      !std::ranges::all_of(text, [](char c) { return is_lower_alnum(c) || c == '-'; }))
    out.emplace_back("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  if (!std::ranges::any_of(text, is_lower))
    out.emplace_back("must contain at least one letter (a-z)");
  if (text.find("--") != std::string_view::npos)
    out.emplace_back("must not contain consecutive hyphens");
  if (text.starts_with('-') || text.ends_with('-'))
    out.emplace_back("must not begin or end with a hyphen");
  return out;
}

}  // namespace cardea::catalog
