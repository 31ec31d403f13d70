#include "catalog/kinds/check.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "json/members.h"
#include "json/print.h"

namespace cardea::catalog {

using json::FieldError;

void complain(const Path& path, const Value& value, const Complaints& complaints,
              FieldErrors& out) {
  for (const std::string& complaint : complaints)
    out.push_back(json::invalid(path, value, complaint));
}

void check_not_negative(const Path& path, const Value& number, FieldErrors& out) {
  if (number.as_int() < 0)
    out.push_back(json::invalid(path, number, std::string(kMustNotBeNegative)));
}

void check_one_of(const Path& path, std::string_view text,
                  std::initializer_list<std::string_view> allowed, FieldErrors& out) {
  if (!contains(allowed, text))
    out.push_back(
        json::not_supported(path, text, std::vector<std::string>(allowed.begin(), allowed.end())));
}

void check_one_of(const Path& path, std::string_view text, const std::vector<std::string>& allowed,
                  FieldErrors& out) {
  if (!contains(allowed, text)) out.push_back(json::not_supported(path, text, allowed));
}

bool check_required(const Path& path, const Value& text, FieldErrors& out) {
  if (!text.as_string().empty()) return true;
  out.push_back(json::required(path));
  return false;
}

void check_immutable(const Path& path, const Value& value, const Value& old, FieldErrors& out) {
  if (!semantically_equal(value, old))
    out.push_back(json::invalid(path, value, std::string(kFieldIsImmutable)));
}

void check_int_or_percent(const Path& path, const Value& value, FieldErrors& out) {
  if (value.is_string())
    complain(path, value, percent(value.as_string()), out);
  else
    check_not_negative(path, value, out);
}

void check_not_above_100_percent(const Path& path, const Value& value, FieldErrors& out) {
  std::string_view text = value.as_string();
  if (text.empty() || !percent(text).empty()) return;
  text.remove_suffix(1);
  auto number = parse_int(text);
  if (!number || *number > 100)
    out.push_back(json::invalid(path, value, "must not be greater than 100%"));
}

void validate_domain_prefixed_path(const Path& path, const Value& value, FieldErrors& out) {
  constexpr std::string_view kPathExpression = R"([A-Za-z0-9/\-._~%!$&'()*+,;=:]+)";
  std::string_view text = value.as_string();
  if (text.empty()) {
    out.push_back(json::required(path));
    return;
  }
  auto slash = text.find('/');
  if (slash == 0 || slash == text.npos || slash + 1 == text.size()) {
    out.push_back(
        json::invalid(path, value, "must be a domain-prefixed path (such as \"acme.io/foo\")"));
    return;
  }
  for (const std::string& complaint : dns1123_subdomain(text.substr(0, slash)))
    out.push_back(json::invalid(path, text.substr(0, slash), complaint));
  auto allowed = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("/-._~%!$&'()*+,;=:").find(c) != std::string_view::npos;
  };
  if (!std::ranges::all_of(text.substr(slash + 1), allowed))
    out.push_back(json::invalid(path, text.substr(slash + 1),
                                regex_error("Invalid path", kPathExpression, {})));
}

void check_conditions(const Path& path, const Value& conditions, FieldErrors& out) {
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const Value& c = conditions[i];
    Path at = path.index(i);
    if (!seen.insert(c["type"].as_string()).second)
      out.push_back(json::duplicate(at / "type", c["type"]));
    if (c["type"].as_string().empty())
      out.push_back(json::required(at / "type"));
    else
      complain(at / "type", c["type"], qualified_name(c["type"].as_string()), out);
    check_one_of(at / "status", c["status"], {"False", "True", "Unknown"}, out);
    if (c["observedGeneration"].as_int() < 0)
      out.push_back(json::invalid(at / "observedGeneration", c["observedGeneration"],
                                  "must be greater than or equal to zero"));
    if (c["lastTransitionTime"].is_null()) out.push_back(json::required(at / "lastTransitionTime"));
    std::string_view reason = c["reason"].as_string();
    if (reason.empty()) {
      out.push_back(json::required(at / "reason"));
    } else {
      complain(at / "reason", c["reason"], condition_reason(reason), out);
      if (reason.size() > 1024) out.push_back(json::too_long(at / "reason", 1024));
    }
    if (c["message"].as_string().size() > 32 * 1024)
      out.push_back(json::too_long(at / "message", 32 * 1024));
  }
}

bool is_zero(const Value& v) {
  switch (v.kind()) {
    case Value::Kind::kNull:
      return true;
    case Value::Kind::kBool:
      return !v.as_bool();
    case Value::Kind::kInt:
      return v.as_int() == 0;
    case Value::Kind::kDouble:
      return v.as_double() == 0;
    case Value::Kind::kString:
      return v.as_string().empty();
    case Value::Kind::kArray:
      return v.empty();
    case Value::Kind::kObject:
      return std::ranges::all_of(v.members(), [](const auto& m) { return is_zero(m.value); });
  }
  return false;
}

bool semantically_equal(const Value& a, const Value& b) {
  if (a.is_object() && b.is_object()) {
    for (const json::Member& m : a.members())
      if (!semantically_equal(m.value, b[m.key()])) return false;
    for (const json::Member& m : b.members())
      if (!a.has(m.key()) && !semantically_equal(Value(), m.value)) return false;
    return true;
  }
  if (a.is_array() && b.is_array())
    return std::ranges::equal(a.items(), b.items(), semantically_equal);
  if (a.is_null() || b.is_null()) {
    const Value& other = a.is_null() ? b : a;
    return other.is_null() || (other.is_array() && other.empty()) ||
           (other.is_object() && is_zero(other)) ||
           (other.is_string() && other.as_string().empty());
  }
  return a == b;
}

Shown shown(const Value& value) {
  return json::print(value);
}
Shown shown_or(const Value& value, const Value& absent) {
  return json::print(value.is_null() ? absent : value);
}

Shown shown_struct(std::initializer_list<std::pair<std::string_view, Shown>> members) {
  std::string out = "{";
  for (const auto& [name, text] : members) {
    if (out.size() > 1) out += ',';
    json::print_string_to(out, name);
    out += ':';
    out += text;
  }
  return out + "}";
}

Shown shown_in_order(const Value& value, std::initializer_list<std::string_view> names) {
  std::string out = "{";
  for (std::string_view name : names) {
    const Value* member = value.find(name);
    if (member == nullptr || member->is_null()) continue;
    if (out.size() > 1) out += ',';
    json::print_string_to(out, name);
    out += ':';
    json::print_to(out, *member);
  }
  return out + "}";
}

Shown shown_selector(const Value& selector) {
  if (selector.is_null()) return "null";
  Value tidy = selector;
  for (std::string_view key : {"matchLabels", "matchExpressions"})
    if (tidy[key].empty()) tidy.erase(key);
  return shown_in_order(tidy, {"matchLabels", "matchExpressions"});
}

FieldError invalid_shown(const Path& path, const Shown& value, std::string_view detail) {
  return json::shown_as(json::invalid(path, Value(), std::string(detail)), value);
}
FieldError not_supported_shown(const Path& path, const Shown& value,
                               const std::vector<std::string>& supported) {
  return json::shown_as(json::not_supported(path, Value(), supported), value);
}
FieldError duplicate_shown(const Path& path, const Shown& value) {
  return json::shown_as(json::duplicate(path, Value()), value);
}

std::vector<std::string> strings(const Value& list) {
  std::vector<std::string> out;
  for (const Value& item : list.items()) out.emplace_back(item.as_string());
  return out;
}

void set_default(Value& object, std::string_view key, const Value& value) {
  if (object[key].is_null()) object.set(key, value);
}
Value& object_member(Value& object, std::string_view key) {
  Value& member = object.member(key);
  if (member.is_null()) member = Value::object();
  return member;
}

void drop_status(Value& object, const StrategyContext&) {
  object.erase("status");
}

void keep_status(Value& object, const Value& old, const StrategyContext&) {
  if (const Value* status = old.find("status"))
    object.set("status", *status);
  else
    object.erase("status");
}

void keep_spec(Value& object, const Value& old, const StrategyContext&) {
  auto is_kept = [](std::string_view name) {
    return name != "status" && name != "metadata" && name != "kind" && name != "apiVersion";
  };
  json::erase_members(object,
                      [&](const json::Member& m) { return is_kept(m.key()) && !old.has(m.key()); });
  std::vector<json::Member> kept;
  for (const json::Member& m : old.members())
    if (is_kept(m.key())) kept.push_back(m);
  json::set_all(object, std::move(kept));
}

}  // namespace cardea::catalog
