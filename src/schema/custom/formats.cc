#include "schema/custom/formats.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/names.h"
#include "base/strings.h"
#include "base/time_parse.h"

namespace cardea::schema {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool all_digits(std::string_view t) {
  return std::ranges::all_of(t, is_digit);
}
bool all_hex(std::string_view t) {
  return std::ranges::all_of(t, is_hex);
}
bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

// Groups of hexadecimal digits with optional dashes between them; the digits without the dashes.
std::optional<std::string> uuid_digits(std::string_view text) {
  std::string digits;
  for (std::size_t group : {8, 4, 4, 4, 12}) {
    if (!digits.empty() && text.starts_with('-')) text.remove_prefix(1);
    if (text.size() < group || !all_hex(text.substr(0, group))) return std::nullopt;
    digits += text.substr(0, group);
    text.remove_prefix(group);
  }
  if (!text.empty()) return std::nullopt;
  return digits;
}

bool uuid(std::string_view text) {
  return uuid_digits(text).has_value();
}

bool uuid_of(std::string_view text, char version, bool check_variant) {
  auto digits = uuid_digits(text);
  if (!digits || (*digits)[12] != version) return false;
  return !check_variant || std::string_view("89abAB").find((*digits)[16]) != std::string_view::npos;
}

bool uuid3(std::string_view t) {
  return uuid_of(t, '3', false);
}
bool uuid4(std::string_view t) {
  return uuid_of(t, '4', true);
}
bool uuid5(std::string_view t) {
  return uuid_of(t, '5', true);
}

bool bson_object_id(std::string_view t) {
  return t.size() == 24 && all_hex(t);
}

// Go reads addresses with leading zeros here, as it did before it refused them.
bool ipv4_address(std::string_view text) {
  auto parts = split(text, '.');
  if (parts.size() != 4) return false;
  for (std::string_view part : parts) {
    if (part.empty() || !all_digits(part)) return false;
    part.remove_prefix(std::min(part.find_first_not_of('0'), part.size()));
    if (part.size() > 3 || (!part.empty() && *parse_int(part) > 255)) return false;
  }
  return true;
}

bool ipv6_address(std::string_view text) {
  int groups = 0;
  bool ellipsis = false;
  if (text.starts_with("::")) {
    ellipsis = true;
    text.remove_prefix(2);
    if (text.empty()) return true;
  }
  while (!text.empty()) {
    auto end = std::min(text.find(':'), text.size());
    std::string_view group = text.substr(0, end);
    if (group.find('.') != group.npos)
      return end == text.size() && ipv4_address(group) && (ellipsis ? groups <= 5 : groups == 6);
    if (group.empty() || group.size() > 4 || !all_hex(group)) return false;
    ++groups;
    text.remove_prefix(end);
    if (text.empty()) break;
    text.remove_prefix(1);
    if (text.empty()) return false;
    if (text[0] == ':') {
      if (ellipsis) return false;
      ellipsis = true;
      text.remove_prefix(1);
    }
  }
  return ellipsis ? groups < 8 : groups == 8;
}

bool ipv4(std::string_view t) {
  return t.find('.') != t.npos && (ipv4_address(t) || ipv6_address(t));
}
bool ipv6(std::string_view t) {
  return t.find(':') != t.npos && ipv6_address(t);
}

bool cidr(std::string_view text) {
  auto slash = text.find('/');
  if (slash == text.npos) return false;
  std::string_view address = text.substr(0, slash), bits = text.substr(slash + 1);
  if (bits.empty() || bits.size() > 3 || !all_digits(bits)) return false;
  auto length = *parse_int(bits);
  return ipv4_address(address) ? length <= 32 : ipv6_address(address) && length <= 128;
}

bool mac(std::string_view text) {
  if (text.size() < 14) return false;
  char separator = text[2] == ':' || text[2] == '-' ? text[2] : '.';
  std::size_t width = separator == '.' ? 4 : 2;
  auto groups = split(text, separator);
  std::size_t bytes = groups.size() * width / 2;
  if (bytes != 6 && bytes != 8 && bytes != 20) return false;
  return std::ranges::all_of(groups,
                             [&](std::string_view g) { return g.size() == width && all_hex(g); });
}

bool matches(std::string_view text, const re2::RE2& form) {
  return re2::RE2::FullMatch(re2::StringPiece(text.data(), text.size()), form);
}

// RFC 1034's names with letters and symbols of any script. Kubernetes' expression allows a dash in
// a name without dots only after its first character.
bool hostname(std::string_view text) {
  static const re2::RE2 kSingle(R"([a-zA-Z0-9\p{S}\p{L}]-?[a-zA-Z0-9\p{S}\p{L}]*)");
  static const re2::RE2 kLabel(
      R"([a-zA-Z0-9\p{S}\p{L}](?:[a-zA-Z0-9\p{S}\p{L}-]*[a-zA-Z0-9\p{S}\p{L}])?)");
  static const re2::RE2 kTop(R"([a-zA-Z\p{L}]{2,})");
  if (text.size() > 255) return false;
  auto labels = split(text, '.');
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const re2::RE2& form = labels.size() == 1 ? kSingle : i + 1 == labels.size() ? kTop : kLabel;
    if (labels[i].size() > 63 || !matches(labels[i], form)) return false;
  }
  return true;
}

bool well_escaped(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '%' && (i + 2 >= text.size() || !is_hex(text[i + 1]) || !is_hex(text[i + 2])))
      return false;
  return true;
}

bool host_and_port(std::string_view host) {
  if (auto at = host.rfind('@'); at != host.npos) host.remove_prefix(at + 1);
  std::string_view port;
  if (host.starts_with('[')) {
    auto end = host.find(']');
    if (end == host.npos) return false;
    port = host.substr(end + 1);
  } else {
    auto colon = host.find(':');
    port = colon == host.npos ? std::string_view() : host.substr(colon);
    host = host.substr(0, colon);
    if (host.find_first_of(" <>\"\\^`{|}") != host.npos) return false;
  }
  return port.empty() || (port[0] == ':' && all_digits(port.substr(1)));
}

// What may stand in the first line of an HTTP request: an absolute URI or an absolute path.
bool uri(std::string_view text) {
  if (text.empty() || !well_escaped(text.substr(0, text.find('?')))) return false;
  if (std::ranges::any_of(text,
                          [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }))
    return false;
  if (text == "*") return true;
  auto colon = text.find_first_of(":/?");
  std::string_view rest = text;
  if (colon != text.npos && text[colon] == ':') {
    std::string_view scheme = text.substr(0, colon);
    auto part = [](char c) {
      return is_letter(c) || is_digit(c) || c == '+' || c == '-' || c == '.';
    };
    if (scheme.empty() || !is_letter(scheme[0]) || !std::ranges::all_of(scheme, part)) return false;
    rest = text.substr(colon + 1);
    if (rest.starts_with("//")) {
      rest.remove_prefix(2);
      return host_and_port(rest.substr(0, std::min(rest.find_first_of("/?"), rest.size())));
    }
    return true;
  }
  return rest.starts_with('/');
}

bool atom_char(char c) {
  return is_letter(c) || is_digit(c) || static_cast<unsigned char>(c) >= 0x80 ||
         std::string_view("!#$%&'*+-/=?^_`{|}~").find(c) != std::string_view::npos;
}

bool dot_atom(std::string_view text) {
  return std::ranges::all_of(split(text, '.'), [](std::string_view part) {
    return !part.empty() && std::ranges::all_of(part, atom_char);
  });
}

bool quoted_text(std::string_view text) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return false;
  text = text.substr(1, text.size() - 2);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && ++i == text.size()) return false;
    if (text[i] == '"' && (i == 0 || text[i - 1] != '\\')) return false;
  }
  return true;
}

bool address(std::string_view text) {
  auto at = text.rfind('@');
  if (at == text.npos) return false;
  std::string_view local = text.substr(0, at), domain = text.substr(at + 1);
  bool literal = domain.size() > 2 && domain.front() == '[' && domain.back() == ']';
  return (dot_atom(local) || quoted_text(local)) && (literal || dot_atom(domain));
}

// RFC 5322: an address, or a name before an address in angle brackets.
bool email(std::string_view text) {
  text = trim(text);
  if (!text.ends_with('>')) return address(text);
  auto open = text.rfind('<');
  if (open == text.npos || !address(text.substr(open + 1, text.size() - open - 2))) return false;
  std::string_view name = trim(text.substr(0, open));
  if (name.empty() || quoted_text(name)) return true;
  return std::ranges::all_of(name, [](char c) { return atom_char(c) || c == '.' || is_space(c); });
}

std::string without(std::string_view text, bool (*drop)(char)) {
  std::string out;
  for (char c : text)
    if (!drop(c)) out += c;
  return out;
}
bool space_or_dash(char c) {
  return is_space(c) || c == '-';
}

bool isbn10(std::string_view text) {
  std::string digits = without(text, space_or_dash);
  if (digits.size() != 10 || !all_digits(std::string_view(digits).substr(0, 9))) return false;
  if (!is_digit(digits[9]) && digits[9] != 'X') return false;
  int sum = 0;
  for (int i = 0; i < 9; ++i) sum += (i + 1) * (digits[static_cast<std::size_t>(i)] - '0');
  sum += 10 * (digits[9] == 'X' ? 10 : digits[9] - '0');
  return sum % 11 == 0;
}

bool isbn13(std::string_view text) {
  std::string digits = without(text, space_or_dash);
  if (digits.size() != 13 || !all_digits(digits)) return false;
  int sum = 0;
  for (std::size_t i = 0; i < 12; ++i) sum += (i % 2 ? 3 : 1) * (digits[i] - '0');
  return (digits[12] - '0') == (10 - sum % 10) % 10;
}

bool isbn(std::string_view t) {
  return isbn10(t) || isbn13(t);
}

bool credit_card(std::string_view text) {
  static const re2::RE2 kForm(R"(^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|)"
                              R"(6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|)"
                              R"(3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})$)");
  std::string digits = without(text, [](char c) { return !is_digit(c); });
  if (!re2::RE2::PartialMatch(digits, kForm)) return false;
  int sum = 0;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    int d = digits[digits.size() - 1 - i] - '0';
    if (i % 2) d = d * 2 > 9 ? d * 2 - 9 : d * 2;
    sum += d;
  }
  return sum % 10 == 0;
}

bool ssn(std::string_view t) {
  auto dash = [](char c) { return c == '-' || c == ' '; };
  return t.size() == 11 && dash(t[3]) && dash(t[6]) && all_digits(t.substr(0, 3)) &&
         all_digits(t.substr(4, 2)) && all_digits(t.substr(7));
}

bool hex_color(std::string_view t) {
  if (t.starts_with('#')) t.remove_prefix(1);
  return (t.size() == 3 || t.size() == 6) && all_hex(t);
}

bool rgb_color(std::string_view t) {
  if (!t.starts_with("rgb(") || !t.ends_with(')')) return false;
  auto parts = split(t.substr(4, t.size() - 5), ',');
  if (parts.size() != 3) return false;
  for (std::string_view part : parts) {
    part = trim(part);
    if (part.empty() || part.size() > 3 || !all_digits(part) || (part.size() > 1 && part[0] == '0'))
      return false;
    if (*parse_int(part) > 255) return false;
  }
  return true;
}

bool byte(std::string_view t) {
  return !t.empty() && t.find_first_of("\r\n") == t.npos && base64_decode(t).has_value();
}

bool password(std::string_view) {
  return true;
}

bool date(std::string_view t) {
  return t.size() == 10 && parse_rfc3339(cat(t, "T00:00:00Z")).has_value();
}

bool date_time(std::string_view text) {
  auto t = text.find_first_of("tT");
  if (t == text.npos || !date(text.substr(0, t))) return false;
  std::string_view time = text.substr(t + 1);
  time = time.substr(0, time.find_first_of("tT"));
  auto two = [&](std::size_t at, int highest) {
    return at + 2 <= time.size() && all_digits(time.substr(at, 2)) &&
           *parse_int(time.substr(at, 2)) <= highest;
  };
  if (time.size() < 9 || !two(0, 23) || time[2] != ':' || !two(3, 59) || time[5] != ':' ||
      !two(6, 59))
    return false;
  time.remove_prefix(8);
  if (time[0] != 'z' && time[0] != 'Z' && time.size() > 1 && is_digit(time[1]) &&
      !(time.size() == 6 && time[3] == ':')) {
    time.remove_prefix(1);
    time.remove_prefix(std::min(time.find_first_not_of("0123456789"), time.size()));
  }
  if (time == "z" || time == "Z") return true;
  return time.size() == 6 && (time[0] == '+' || time[0] == '-') && time[3] == ':' &&
         all_digits(time.substr(1, 2)) && all_digits(time.substr(4));
}

// Go's durations, and those of Scala: a number and the name of a unit, anywhere in the text.
bool duration(std::string_view text) {
  if (parse_duration(text)) return true;
  static const re2::RE2 kPart(R"((\d+)\s*([A-Za-zµ]+))");
  constexpr std::string_view kExact[] = {"ns", "us", "µs", "ms", "s", "m",
                                         "h",  "hr", "d",  "w",  "wk"};
  constexpr std::string_view kBeginnings[] = {"nano", "micro", "milli", "sec",
                                              "min",  "hour",  "day",   "week"};
  re2::StringPiece rest(text.data(), text.size());
  std::string number, name;
  bool found = false;
  while (re2::RE2::FindAndConsume(&rest, kPart, &number, &name)) {
    if (!parse_int(number)) return false;
    std::string unit = lower(name);
    found |= std::ranges::find(kExact, unit) != std::end(kExact) ||
             std::ranges::any_of(kBeginnings,
                                 [&](std::string_view b) { return unit.starts_with(b); });
  }
  return found;
}

bool short_name(std::string_view t) {
  return dns_label_problems(t).empty();
}
bool long_name(std::string_view t) {
  return dns_subdomain_problems(t).empty();
}

constexpr Format kFormats[] = {
    {"bsonobjectid", bson_object_id},
    {"uri", uri},
    {"email", email},
    {"hostname", hostname},
    {"ipv4", ipv4},
    {"ipv6", ipv6},
    {"cidr", cidr},
    {"mac", mac},
    {"uuid", uuid},
    {"uuid3", uuid3},
    {"uuid4", uuid4},
    {"uuid5", uuid5},
    {"isbn", isbn},
    {"isbn10", isbn10},
    {"isbn13", isbn13},
    {"creditcard", credit_card},
    {"ssn", ssn},
    {"hexcolor", hex_color},
    {"rgbcolor", rgb_color},
    {"byte", byte},
    {"password", password},
    {"date", date},
    {"duration", duration},
    {"datetime", date_time},
    {"k8sshortname", short_name},
    {"k8slongname", long_name},
};

}  // namespace

const Format* find_format(std::string_view name) {
  std::string plain = without(name, [](char c) { return c == '-'; });
  auto at = std::ranges::find(kFormats, std::string_view(plain), &Format::name);
  return at == std::end(kFormats) ? nullptr : &*at;
}

}  // namespace cardea::schema
