#include <algorithm>
#include <set>

#include "base/strings.h"
#include "schema/custom/check_rules.h"
#include "schema/custom/check_schema.h"

namespace cardea::schema {
namespace {

using json::FieldError;
using json::FieldErrors;
using json::Member;
using json::Value;

bool is_meta_field(std::string_view key) {
  return key == "apiVersion" || key == "kind" || key == "metadata";
}

bool has_line_break(std::string_view text) {
  return text.find_first_of("\r\n") != text.npos;
}

// What the checks of a node inherit from the nodes above it.
struct Inherited {
  RuleChecker::Context rules;
  bool inside_meta = false;
  std::string no_defaults;  // why defaults are not allowed; empty where they are
};

class OpenApiChecker {
 public:
  explicit OpenApiChecker(RuleChecker* expressions) : expressions_(expressions) {}

  void check(const Value& s, const std::string& path, const Inherited& above, bool root) {
    const std::size_t before = errors.size();
    check_keywords(s, path, above);
    if (s["uniqueItems"].as_bool())
      forbid(path + ".uniqueItems",
             "uniqueItems cannot be set to true since the runtime complexity becomes quadratic");
    check_object(s, path, above, root);
    Inherited nested = above, items = above;
    nested.rules = above.rules.nested();
    items.rules = above.rules.element(s, path);
    if (s["not"].is_object()) check(s["not"], path + ".not", nested, false);
    for (const char* junctor : {"allOf", "oneOf", "anyOf"})
      for (std::size_t i = 0; i < s[junctor].size(); ++i)
        check(s[junctor][i], cat(path, ".", junctor, "[", i, "]"), nested, false);
    for (const Member& m : s["definitions"].members())
      check(m.value, cat(path, ".definitions[", m.key(), "]"), nested, false);
    if (s["items"].is_object()) check(s["items"], path + ".items", items, false);
    for (std::size_t i = 0; s["items"].is_array() && i < s["items"].size(); ++i)
      check(s["items"][i], cat(path, ".items[", i, "]"), items, false);
    for (const Member& m : s["dependencies"].members())
      if (m.value.is_object())
        check(m.value, cat(path, ".dependencies[", m.key(), "]"), nested, false);
    const Value& preserve = s["x-kubernetes-preserve-unknown-fields"];
    if (preserve.is_bool() && !preserve.as_bool())
      add(json::invalid(path + ".x-kubernetes-preserve-unknown-fields", false,
                        "must be true or undefined"));
    check_map_type(s, path);
    check_list_type(s, path);
    check_list_map(s, path);
    check_rules(s, path);
    if (expressions_ != nullptr && errors.size() == before)
      expressions_->node(s, path, root, above.rules);
  }

  FieldErrors errors;

 private:
  void add(FieldError e) { errors.push_back(std::move(e)); }
  void forbid(std::string field, std::string detail) {
    add(json::forbidden(std::move(field), std::move(detail)));
  }

  void check_keywords(const Value& s, const std::string& path, const Inherited& above) {
    static const std::vector<std::string> kTypes = {"array",  "boolean", "integer",
                                                    "number", "object",  "string"};
    std::string_view type = s["type"].as_string();
    if (!type.empty() && std::ranges::find(kTypes, type) == kTypes.end())
      add(json::not_supported(path + ".type", type, kTypes));
    if (!s["default"].is_null() && !above.no_defaults.empty())
      forbid(path + ".default", cat("must not be set ", above.no_defaults));
    if (!s["id"].as_string().empty()) forbid(path + ".id", "id is not supported");
    if (s.has("additionalItems"))
      forbid(path + ".additionalItems", "additionalItems is not supported");
    if (!s["patternProperties"].empty())
      forbid(path + ".patternProperties", "patternProperties is not supported");
    if (!s["definitions"].empty()) forbid(path + ".definitions", "definitions is not supported");
    if (s.has("dependencies")) forbid(path + ".dependencies", "dependencies is not supported");
    if (s.has("$ref")) forbid(path + ".$ref", "$ref is not supported");
    if (type == "null")
      forbid(path + ".type", "type cannot be set to null, use nullable as an alternative");
    if (s["items"].is_array() && !s["items"].empty())
      forbid(path + ".items", "items must be a schema object and not an array");
    if (above.inside_meta && s["x-kubernetes-embedded-resource"].as_bool())
      forbid(path + ".x-kubernetes-embedded-resource", "must not be used inside of resource meta");
  }

  void check_object(const Value& s, const std::string& path, const Inherited& above, bool root) {
    const Value& additional = s["additionalProperties"];
    if (!additional.is_null()) {
      if (!s["properties"].empty() && !(additional.is_bool() && additional.as_bool()))
        forbid(path + ".additionalProperties",
               "additionalProperties and properties are mutual exclusive");
      Inherited below = above;
      below.rules = above.rules.element(s, path);
      if (above.inside_meta)
        below.no_defaults = "inside additionalProperties applying to object metadata";
      if (additional.is_object()) check(additional, path + ".additionalProperties", below, false);
    }
    for (const Member& m : s["properties"].members()) {
      Inherited below = above;
      if ((root || s["x-kubernetes-embedded-resource"].as_bool()) && is_meta_field(m.key())) {
        below.inside_meta = true;
        if (root) below.no_defaults = cat("in top-level ", m.key());
      }
      check(m.value, cat(path, ".properties[", m.key(), "]"), below, false);
    }
  }

  // An extension that only one type can have.
  void require_type(const Value& s, const std::string& path, std::string_view type,
                    std::string_view extension) {
    std::string detail = cat("must be ", type, " if ", extension, " is specified");
    std::string_view found = s["type"].as_string();
    add(found.empty() ? json::required(path + ".type", detail)
                      : json::invalid(path + ".type", found, detail));
  }

  void check_map_type(const Value& s, const std::string& path) {
    const Value* map_type = s.find("x-kubernetes-map-type");
    if (!map_type) return;
    if (s["type"].as_string() != "object") require_type(s, path, "object", "x-kubernetes-map-type");
    if (map_type->as_string() != "atomic" && map_type->as_string() != "granular")
      add(json::not_supported(path + ".x-kubernetes-map-type", *map_type, {"atomic", "granular"}));
  }

  void check_list_type(const Value& s, const std::string& path) {
    const Value* list_type = s.find("x-kubernetes-list-type");
    std::string_view name = list_type ? list_type->as_string() : std::string_view();
    if (list_type && s["type"].as_string() != "array") {
      require_type(s, path, "array", "x-kubernetes-list-type");
    } else if (name == "set" && s["items"].is_object()) {
      const Value& items = s["items"];
      constexpr const char*
          kDetail = "must be atomic as item of a list with x-kubernetes-list-type=set";
      std::string_view type = items["type"].as_string();
      const Value& inner = items["x-kubernetes-list-type"];
      if (type == "array" && !inner.is_null() && inner.as_string() != "atomic")
        add(json::invalid(path + ".items.x-kubernetes-list-type", inner, kDetail));
      if (type == "object" && items["x-kubernetes-map-type"].as_string() != "atomic")
        add(json::invalid(path + ".items.x-kubernetes-map-type", inner, kDetail));
    }
    if (list_type && name != "atomic" && name != "set" && name != "map")
      add(json::not_supported(path + ".x-kubernetes-list-type", *list_type,
                              {"atomic", "set", "map"}));
    if (!s["x-kubernetes-list-map-keys"].empty() && name != "map") {
      constexpr const char* kDetail = "must be map if x-kubernetes-list-map-keys is non-empty";
      std::string at = path + ".x-kubernetes-list-type";
      add(list_type ? json::invalid(at, *list_type, kDetail) : json::required(at, kDetail));
    }
  }

  void check_list_map(const Value& s, const std::string& path) {
    std::string_view name = s["x-kubernetes-list-type"].as_string();
    const Value &keys = s["x-kubernetes-list-map-keys"], &items = s["items"];
    std::string at_keys = path + ".x-kubernetes-list-map-keys";
    if (name == "map") {
      if (keys.empty())
        add(json::required(at_keys, "must not be empty if x-kubernetes-list-type is map"));
      if (items.is_null())
        add(json::required(path + ".items", "must have a schema if x-kubernetes-list-type is map"));
      if (items.is_array())
        add(json::invalid(path + ".items", items,
                          "must only have a single schema if x-kubernetes-list-type is map"));
      if (items.is_object() && items["type"].as_string() != "object")
        add(json::invalid(path + ".items.type", items["type"].as_string(),
                          "must be object if parent array's x-kubernetes-list-type is map"));
      if (items.is_object() && items["type"].as_string() == "object")
        check_map_keys(items, keys, path, at_keys);
    }
    if (!items.is_object() || (name != "set" && name != "map")) return;
    if (items["nullable"].as_bool())
      forbid(path + ".items.nullable",
             cat("cannot be nullable when x-kubernetes-list-type is ", name));
    if (name == "map") check_map_key_presence(items, keys, path);
  }

  void check_map_keys(const Value& items, const Value& keys, const std::string& path,
                      const std::string& at_keys) {
    std::set<std::string_view> seen;
    for (const Value& key : keys.items()) {
      if (const Value* p = items["properties"].find(key.as_string())) {
        std::string_view type = (*p)["type"].as_string();
        if (type == "array" || type == "object")
          add(json::invalid(
              cat(path, ".items.properties[", key.as_string(), "].type"), items["type"],
              "must be a scalar type if parent array's x-kubernetes-list-type is map"));
      } else {
        add(json::invalid(at_keys, keys, "entries must all be names of item properties"));
      }
      if (!seen.insert(key.as_string()).second)
        add(json::invalid(at_keys, keys, "must not contain duplicate entries"));
    }
  }

  void check_map_key_presence(const Value& items, const Value& keys, const std::string& path) {
    auto required = items["required"].items();
    for (const Value& key : keys.items()) {
      const Value* p = items["properties"].find(key.as_string());
      if (!p) continue;
      std::string at = cat(path, ".items.properties[", key.as_string(), "]");
      if (std::ranges::find(required, key) == required.end() && (*p)["default"].is_null())
        add(json::required(
            at + ".default",
            "this property is in x-kubernetes-list-map-keys, so it must have a default "
            "or be a required property"));
      if ((*p)["nullable"].as_bool())
        forbid(at + ".nullable",
               "this property is in x-kubernetes-list-map-keys, so it cannot be nullable");
    }
  }

  // The form of x-kubernetes-validations; their expressions are compiled elsewhere.
  void check_rules(const Value& s, const std::string& path) {
    const Value& rules = s["x-kubernetes-validations"];
    for (std::size_t i = 0; i < rules.size(); ++i) {
      const Value& rule = rules[i];
      std::string at = cat(path, ".x-kubernetes-validations[", i, "]");
      std::string_view message = rule["message"].as_string(),
                       expression = rule["messageExpression"].as_string(),
                       field = rule["fieldPath"].as_string(), text = trim(rule["rule"].as_string());
      if (text.empty())
        add(json::required(at + ".rule", "rule is not specified"));
      else if (!message.empty() && trim(message).empty())
        add(json::invalid(at + ".message", message, "must be non-empty if specified"));
      else if (has_line_break(trim(message)))
        add(json::invalid(at + ".message", message, "must not contain line breaks"));
      else if (has_line_break(text) && trim(message).empty())
        add(json::required(at + ".message",
                           "message must be specified if rule contains line breaks"));
      if (!expression.empty() && trim(expression).empty())
        add(json::required(at + ".messageExpression",
                           "messageExpression must be non-empty if specified"));
      static const std::vector<std::string> kReasons = {
          "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"};
      if (const Value* reason = rule.find("reason");
          reason && std::ranges::find(kReasons, reason->as_string()) == kReasons.end())
        add(json::not_supported(at + ".reason", *reason, kReasons));
      if (field.empty()) continue;
      if (trim(field).empty())
        add(json::invalid(at + ".fieldPath", field, "must be non-empty if specified"));
      if (has_line_break(field))
        add(json::invalid(at + ".fieldPath", field, "must not contain line breaks"));
      if (!find_field(s, field, true))
        add(json::invalid(at + ".fieldPath", field, "must be a valid path"));
    }
  }

  RuleChecker* expressions_;
};

// Splits `.a['b.c'].d` into its marks and names.
std::vector<std::string_view> path_tokens(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    std::size_t n = 1;
    if (text[0] == '\'') {
      while (n < text.size() && !(text[n] == '\'' && text[n - 1] != '\\')) ++n;
      n = std::min(n + 1, text.size());
    } else if (text[0] != '.' && text[0] != '[' && text[0] != ']') {
      n = std::min(text.find_first_of(".[]"), text.size());
    }
    out.push_back(text.substr(0, n));
    text.remove_prefix(n);
  }
  return out;
}

}  // namespace

FieldErrors check_open_api(const Value& schema, const std::string& path, RuleChecker* rules) {
  OpenApiChecker checker(rules);
  checker.check(schema, path, {}, true);
  if (rules != nullptr) {
    std::ranges::move(rules->errors, std::back_inserter(checker.errors));
    rules->errors.clear();
  }
  return std::move(checker.errors);
}

Result<FoundField> find_field(const Value& schema, std::string_view json_path,
                              bool allow_brackets) {
  auto wrong = [](std::string message) { return fail(bad_request(std::move(message))); };
  FoundField found{schema, "", ""};
  auto tokens = path_tokens(json_path);
  std::size_t i = 0;
  auto step = [&](const std::string& name) -> bool {
    const Value& properties = found.schema["properties"];
    const Value& additional = found.schema["additionalProperties"];
    if (found.root.empty()) found.root = name;
    if (!properties.empty()) {
      const Value* p = properties.find(name);
      if (!p) return false;
      found.path += found.path.empty() ? name : "." + name;
      found.schema = Value(*p);
      return true;
    }
    if (additional.is_null()) return false;
    found.path += "[" + name + "]";
    found.schema = Value(additional);
    return true;
  };
  for (; i < tokens.size(); ++i) {
    if (tokens[i] == "[") {
      if (!allow_brackets) return wrong("array notation is not allowed");
      if (++i == tokens.size()) return wrong("unexpected end of JSON path");
      std::string_view t = tokens[i];
      if (t.size() < 2 || t.front() != '\'' || t.back() != '\'')
        return wrong(cat("expected single quoted string but got ", t));
      std::string name;
      for (std::size_t k = 1; k + 1 < t.size(); ++k) {
        if (t[k] == '\\' && k + 2 < t.size()) ++k;
        name += t[k];
      }
      if (!step(name)) return wrong("does not refer to a valid field");
      if (++i == tokens.size()) return wrong("unexpected end of JSON path");
      if (tokens[i] != "]") return wrong(cat("expected ] but got ", tokens[i]));
    } else if (tokens[i] == ".") {
      if (++i == tokens.size()) return wrong("unexpected end of JSON path");
      if (!step(std::string(tokens[i]))) return wrong("does not refer to a valid field");
    } else {
      return wrong(cat("expected [ or . but got: ", tokens[i]));
    }
  }
  return found;
}

}  // namespace cardea::schema
