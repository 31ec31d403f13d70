#include <re2/re2.h>

#include <algorithm>

#include "base/strings.h"
#include "schema/custom/check_schema.h"

namespace cardea::schema {
namespace {

using json::FieldErrors;
using json::Member;
using json::Value;

enum class Level { kRoot, kItem, kField };

bool flag(const Value& s, std::string_view key) {
  return s[key].as_bool();
}
std::string_view type_of(const Value& s) {
  return s["type"].as_string();
}

std::string key_of(const std::string& path, std::string_view name) {
  return cat(path, "[", name, "]");
}

// RE2's faults in the words of Go's parser.
std::string go_regex_error(const re2::RE2& regex) {
  std::string_view what;
  switch (regex.error_code()) {
    case re2::RE2::ErrorBadEscape:
      what = "invalid escape sequence";
      break;
    case re2::RE2::ErrorBadCharClass:
      what = "invalid character class";
      break;
    case re2::RE2::ErrorBadCharRange:
      what = "invalid character class range";
      break;
    case re2::RE2::ErrorMissingBracket:
      what = "missing closing ]";
      break;
    case re2::RE2::ErrorMissingParen:
      what = "missing closing )";
      break;
    case re2::RE2::ErrorUnexpectedParen:
      what = "unexpected )";
      break;
    case re2::RE2::ErrorTrailingBackslash:
      what = "trailing backslash at end of expression";
      break;
    case re2::RE2::ErrorRepeatArgument:
      what = "missing argument to repetition operator";
      break;
    case re2::RE2::ErrorRepeatSize:
      what = "invalid repeat count";
      break;
    case re2::RE2::ErrorRepeatOp:
      what = "invalid nested repetition operator";
      break;
    case re2::RE2::ErrorBadPerlOp:
      what = "invalid or unsupported Perl syntax";
      break;
    case re2::RE2::ErrorBadUTF8:
      what = "invalid UTF-8";
      break;
    case re2::RE2::ErrorBadNamedCapture:
      what = "invalid named capture";
      break;
    case re2::RE2::ErrorPatternTooLarge:
      what = "expression too large";
      break;
    default:
      return cat("error parsing regexp: ", regex.error());
  }
  std::string_view argument = regex.error_arg();
  return cat("error parsing regexp: ", what, ": `", argument, "`");
}

class StructuralChecker {
 public:
  void check(const Value& s, Level level, const std::string& path) {
    if (type_of(s) == "array" && !s.has("items"))
      add(json::required(path + ".items", "must be specified"));
    if (s["items"].is_object()) check(s["items"], Level::kItem, path + ".items");
    for (const Member& m : s["properties"].members())
      check(m.value, Level::kField, key_of(path + ".properties", m.key()));
    if (s.has("additionalProperties")) {
      if (level == Level::kRoot)
        add(json::forbidden(path + ".additionalProperties", "must not be used at the root"));
      if (s["additionalProperties"].is_object())
        check(s["additionalProperties"], Level::kField, path + ".additionalProperties");
    }
    check_extensions(s, path);
    check_values(s, is_int_or_string(s["anyOf"]), is_int_or_string(s["allOf"][0]["anyOf"]), path);
    check_type(s, level, path);
    check_meta(s, level, path);
  }

  // Every field that a nested validation speaks of must be there outside of it.
  void check_complete(const Value& nested, const Value& s, const std::string& s_path,
                      const std::string& v_path) {
    for (const char* junctor : {"not", "allOf", "anyOf", "oneOf"}) {
      const Value& part = nested[junctor];
      std::string at = cat(v_path, ".", junctor);
      if (part.is_object()) complete_nested(part, s, s_path, at);
      for (std::size_t i = 0; i < part.size() && part.is_array(); ++i)
        complete_nested(part[i], s, s_path, cat(at, "[", i, "]"));
    }
  }

  FieldErrors errors;

 private:
  void add(json::FieldError e) { errors.push_back(std::move(e)); }

  static bool is_int_or_string(const Value& any_of) {
    static const Value kPattern = Value::array(
        {Value::object({{"type", "integer"}}), Value::object({{"type", "string"}})});
    return any_of == kPattern;
  }

  void check_extensions(const Value& s, const std::string& path) {
    if (!flag(s, "x-kubernetes-int-or-string")) return;
    for (const char* other :
         {"x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"})
      if (flag(s, other))
        add(json::invalid(cat(path, ".", other), true,
                          "must be false if x-kubernetes-int-or-string is true"));
  }

  void check_values(const Value& s, bool skip_any_of, bool skip_first_all_of,
                    const std::string& path) {
    if (!skip_any_of) nested_list(s["anyOf"], path + ".anyOf", false);
    nested_list(s["allOf"], path + ".allOf", skip_first_all_of);
    nested_list(s["oneOf"], path + ".oneOf", false);
    if (s["not"].is_object()) check_nested(s["not"], false, path + ".not");
    std::string pattern(s["pattern"].as_string());
    if (pattern.empty()) return;
    re2::RE2 regex(pattern, re2::RE2::Quiet);
    if (!regex.ok())
      add(json::invalid(path + ".pattern", pattern,
                        "must be a valid regular expression, but isn't: " + go_regex_error(regex)));
  }

  void nested_list(const Value& list, const std::string& path, bool skip_first_any_of) {
    for (std::size_t i = 0; i < list.items().size(); ++i)
      check_nested(list[i], skip_first_any_of && i == 0, cat(path, "[", i, "]"));
  }

  // Below a junctor only value validations may stand.
  void check_nested(const Value& v, bool skip_any_of, const std::string& path) {
    check_values(v, skip_any_of, false, path);
    if (v["items"].is_object()) check_nested(v["items"], false, path + ".items");
    for (const Member& m : v["properties"].members())
      check_nested(m.value, false, key_of(path + ".properties", m.key()));
    auto forbid = [&](std::string_view key, std::string_view detail) {
      add(json::forbidden(cat(path, ".", key), std::string(detail)));
    };
    if (!type_of(v).empty()) forbid("type", "must be empty to be structural");
    const Value& additional = v["additionalProperties"];
    if (additional.is_object() || additional.as_bool())
      forbid("additionalProperties", "must be undefined to be structural");
    if (!v["default"].is_null()) forbid("default", "must be undefined to be structural");
    for (const char* key : {"title", "description"})
      if (!v[key].as_string().empty()) forbid(key, "must be empty to be structural");
    for (const char* key : {"nullable", "x-kubernetes-preserve-unknown-fields",
                            "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string"})
      if (flag(v, key)) forbid(key, "must be false to be structural");
    if (!v["x-kubernetes-list-map-keys"].empty())
      forbid("x-kubernetes-list-map-keys", "must be empty to be structural");
    for (const char* key : {"x-kubernetes-list-type", "x-kubernetes-map-type"})
      if (v.has(key)) forbid(key, "must be undefined to be structural");
    if (!v["x-kubernetes-validations"].empty())
      forbid("x-kubernetes-validations", "must be empty to be structural");
    if (v["properties"].has("metadata"))
      add(json::forbidden(key_of(path + ".properties", "metadata"),
                          "must not be specified in a nested context"));
  }

  void check_type(const Value& s, Level level, const std::string& path) {
    bool embedded = flag(s, "x-kubernetes-embedded-resource");
    std::string_view type = type_of(s);
    std::string at = path + ".type";
    if (embedded && type != "object") {
      constexpr std::string_view
          kDetail = "must be object if x-kubernetes-embedded-resource is true";
      add(type.empty() ? json::required(at, std::string(kDetail))
                       : json::invalid(at, type, std::string(kDetail)));
    } else if (type.empty() && !flag(s, "x-kubernetes-int-or-string") &&
               !flag(s, "x-kubernetes-preserve-unknown-fields")) {
      add(json::required(at, level == Level::kRoot ? "must not be empty at the root"
                             : level == Level::kItem
                                 ? "must not be empty for specified array items"
                                 : "must not be empty for specified object fields"));
    }
    if (embedded && s.has("additionalProperties"))
      add(json::forbidden(path + ".additionalProperties",
                          "must not be used if x-kubernetes-embedded-resource is set"));
    if (level == Level::kRoot && !type.empty() && type != "object")
      add(json::invalid(at, type, "must be object at the root"));
  }

  void check_meta(const Value& s, Level level, const std::string& path) {
    bool embedded = flag(s, "x-kubernetes-embedded-resource");
    const Value& properties = s["properties"];
    std::string at = path + ".properties";
    if (level == Level::kRoot || embedded) {
      for (const char* name : {"kind", "apiVersion"})
        if (const Value* p = properties.find(name); p && type_of(*p) != "string")
          add(json::invalid(key_of(at, name) + ".type", type_of(*p), "must be string"));
      if (const Value* meta = properties.find("metadata"); meta && type_of(*meta) != "object")
        add(json::invalid(key_of(at, "metadata") + ".type", type_of(*meta), "must be object"));
    }
    if (const Value* meta = properties.find("metadata");
        meta && level == Level::kRoot && !restricts_name_only(*meta))
      add(json::forbidden(key_of(at, "metadata"),
                          "must not specify anything other than name and generateName, but "
                          "metadata is implicitly specified"));
    if (embedded && !flag(s, "x-kubernetes-preserve-unknown-fields") && properties.empty())
      add(json::required(at,
                         "must not be empty if x-kubernetes-embedded-resource is true without "
                         "x-kubernetes-preserve-unknown-fields"));
  }

  static bool restricts_name_only(const Value& meta) {
    for (const Member& m : meta.members())
      if (m.key() != "type" && m.key() != "default" && m.key() != "properties") return false;
    return std::ranges::all_of(meta["properties"].members(), [](const Member& m) {
      return m.key() == "name" || m.key() == "generateName";
    });
  }

  void complete_nested(const Value& v, const Value& s, const std::string& s_path,
                       const std::string& v_path) {
    check_complete(v, s, s_path, v_path);
    if (v["items"].is_object()) {
      if (s["items"].is_object())
        complete_nested(v["items"], s["items"], s_path + ".items", v_path + ".items");
      else
        add(json::required(s_path + ".items", cat("because it is defined in ", v_path, ".items")));
    }
    for (const Member& m : v["properties"].members()) {
      std::string s_at = key_of(s_path + ".properties", m.key()),
                  v_at = key_of(v_path + ".properties", m.key());
      if (const Value* p = s["properties"].find(m.key()))
        complete_nested(m.value, *p, s_at, v_at);
      else
        add(json::required(s_at, "because it is defined in " + v_at));
    }
  }
};

}  // namespace

FieldErrors check_structural(const Value& schema, const std::string& path) {
  StructuralChecker checker;
  checker.check(schema, Level::kRoot, path);
  checker.check_complete(schema, schema, path, path);
  std::ranges::stable_sort(checker.errors, {},
                           [](const json::FieldError& e) { return e.message(); });
  return std::move(checker.errors);
}

std::optional<std::string> unsupported_keyword(const Value& schema) {
  for (const char* key : {"id", "$schema", "$ref", "patternProperties", "dependencies",
                          "additionalItems", "definitions"}) {
    const Value* v = schema.find(key);
    if (!v || v->is_null() || (v->is_string() && v->as_string().empty()) ||
        (v->is_object() && v->empty()))
      continue;
    return cat("OpenAPIV3Schema '", key[0] == '$' && key[1] == 's' ? "schema" : key,
               "' is not supported");
  }
  if (schema["items"].is_array())
    return "OpenAPIV3Schema 'items' must be a schema, but is an array";
  const Value& preserve = schema["x-kubernetes-preserve-unknown-fields"];
  if (preserve.is_bool() && !preserve.as_bool())
    return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined";
  auto in = [](const Value& part) {
    return part.is_object() ? unsupported_keyword(part) : std::nullopt;
  };
  for (const char* key : {"items", "additionalProperties", "not"})
    if (auto found = in(schema[key])) return found;
  for (const char* key : {"allOf", "anyOf", "oneOf"})
    for (const Value& part : schema[key].items())
      if (auto found = in(part)) return found;
  for (const Member& m : schema["properties"].members())
    if (auto found = in(m.value)) return found;
  return std::nullopt;
}

}  // namespace cardea::schema
