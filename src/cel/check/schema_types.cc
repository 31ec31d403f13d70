#include "cel/check/schema_types.h"

#include <algorithm>

#include "base/strings.h"
#include "cel/eval/frame.h"
#include "cel/eval/time.h"

namespace cardea::cel {
namespace {

constexpr std::string_view kKeywords[] = {
    "true",     "false",   "null",      "in",       "as",  "break",  "const",
    "continue", "else",    "for",       "function", "if",  "import", "let",
    "loop",     "package", "namespace", "return",   "var", "void",   "while"};
// From Kubernetes 1.31 on these may be selected without escaping, although escaping still works.
constexpr std::string_view kHardKeywords[] = {"true", "false", "null", "in"};

bool int_or_string(const json::Value& s) {
  return s["x-kubernetes-int-or-string"].as_bool();
}
bool embedded(const json::Value& s) {
  return s["x-kubernetes-embedded-resource"].as_bool();
}

const json::Value& object_meta() {
  static const json::Value meta = json::Value::object(
      {{"type", "object"},
       {"properties",
        json::Value::object({{"name", json::Value::object({{"type", "string"}})},
                             {"generateName", json::Value::object({{"type", "string"}})}})}});
  return meta;
}

// Whether a resource's schema says itself what every resource has. Then it is taken as it is.
bool has_type_and_meta(const json::Value& properties) {
  const json::Value& meta = properties["metadata"];
  auto is = [](const json::Value& s, std::string_view type) {
    return s["type"].as_string() == type;
  };
  return is(properties["kind"], "string") && is(properties["apiVersion"], "string") &&
         is(meta, "object") && is(meta["properties"]["name"], "string") &&
         is(meta["properties"]["generateName"], "string");
}

// The properties of an object, with those that every resource has.
json::Value properties_of(const json::Value& schema, bool root) {
  json::Value properties = schema["properties"];
  if (!root || has_type_and_meta(properties)) return properties;
  const json::Value text = json::Value::object({{"type", "string"}});
  json::Value out = properties.is_object() ? properties : json::Value::object();
  out.set("apiVersion", text);
  out.set("kind", text);
  out.set("metadata", object_meta());  // only the names are visible
  return out;
}

Value field_error(Frame& f, std::string_view what) {
  return f.error(what);
}

}  // namespace

std::optional<std::string> escape_property(std::string_view name) {
  if (std::ranges::find(kHardKeywords, name) != std::end(kHardKeywords))
    return cat("__", name, "__");
  if (std::ranges::find(kKeywords, name) != std::end(kKeywords)) return cat("__", name, "__");
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return std::nullopt;
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (name.substr(i).starts_with("__")) {
      out += "__underscores__";
      ++i;
    } else if (c == '.') {
      out += "__dot__";
    } else if (c == '-') {
      out += "__dash__";
    } else if (c == '/') {
      out += "__slash__";
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_') {
      out += c;
    } else {
      return std::nullopt;
    }
  }
  return out;
}

std::optional<std::string> unescape_property(std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> kEscapes[] = {
      {"__underscores__", "__"}, {"__dot__", "."}, {"__dash__", "-"}, {"__slash__", "/"}};
  if (name.size() > 4 && name.starts_with("__") && name.ends_with("__"))
    for (const std::string_view keyword : kKeywords)
      if (name.substr(2, name.size() - 4) == keyword) return std::string(keyword);
  std::string out;
  while (!name.empty()) {
    // An escape is two underscores, a text without underscores, and two underscores.
    const std::size_t begin = name.find("__");
    const std::size_t word = begin == name.npos ? name.npos : name.find_first_not_of('_', begin);
    const std::size_t end = word == name.npos ? name.npos : name.find('_', word);
    if (end == name.npos) break;
    if (!name.substr(end).starts_with("__")) {
      out += name.substr(0, end);
      name.remove_prefix(end);
      continue;
    }
    const std::string_view escape = name.substr(word - 2, end + 4 - word);
    const auto* known = std::ranges::find(kEscapes, escape,
                                          &std::pair<std::string_view, std::string_view>::first);
    if (known == std::end(kEscapes)) return std::nullopt;
    out += name.substr(0, word - 2);
    out += known->second;
    name.remove_prefix(end + 2);
  }
  out += name;
  return out;
}

const Type* declare_schema(Environment& env, std::string_view name, const json::Value& schema,
                           bool root) {
  TypePool& types = env.types();
  if (int_or_string(schema)) return types.dyn();
  const std::string_view type = schema["type"].as_string();
  if (type == "array") {
    const Type* items = declare_schema(env, cat(name, ".@idx"), schema["items"],
                                       embedded(schema["items"]));
    return items == nullptr ? nullptr : types.list(items);
  }
  if (type == "object") {
    const json::Value& extra = schema["additionalProperties"];
    if (extra.is_object()) {
      const Type* value = declare_schema(env, cat(name, ".@elem"), extra, embedded(extra));
      return value == nullptr ? nullptr : types.map(types.simple(Type::kString), value);
    }
    ObjectType record;
    record.name = name;
    const json::Value properties = properties_of(schema, root);
    for (const json::Member& m : properties.members()) {
      const auto escaped = escape_property(m.key());
      if (!escaped) continue;
      const Type* field = declare_schema(env, cat(name, ".", *escaped), m.value, embedded(m.value));
      if (field == nullptr) continue;
      record.fields[*escaped] = field;
      // Soft keywords may be selected as they are.
      if (std::ranges::find(kKeywords, m.key()) != std::end(kKeywords) &&
          std::ranges::find(kHardKeywords, m.key()) == std::end(kHardKeywords))
        record.fields[std::string(m.key())] = field;
    }
    env.record(std::move(record));
    return types.object(name);
  }
  if (type == "string") {
    const std::string_view format = schema["format"].as_string();
    if (format == "byte") return types.simple(Type::kBytes);
    if (format == "duration") return types.simple(Type::kDuration);
    if (format == "date" || format == "date-time") return types.simple(Type::kTimestamp);
    return types.simple(Type::kString);
  }
  if (type == "boolean") return types.simple(Type::kBool);
  if (type == "number") return types.simple(Type::kDouble);
  if (type == "integer") return types.simple(Type::kInt);
  return nullptr;
}

Value typed_value(Frame& f, const json::Value& document, const json::Value& schema, bool root) {
  if (document.is_null())
    return schema["nullable"].as_bool()
               ? Value::null()
               : field_error(f, "invalid data, got null for schema with nullable=false");
  if (int_or_string(schema))
    return document.is_string() || document.is_int()
               ? Value::of_json(document)
               : field_error(
                     f,
                     "invalid data, expected XIntOrString value to be either a string or integer");
  const std::string_view type = schema["type"].as_string();
  if (type == "array") {
    if (!document.is_array())
      return field_error(f,
                         "invalid data, expected an array for the provided schema with type=array");
    ListBuilder list(f.arena);
    const std::string_view list_type = schema["x-kubernetes-list-type"].as_string();
    ListBuilder keys(f.arena);
    for (const json::Value& key : schema["x-kubernetes-list-map-keys"].items())
      keys.add(Value::of_text(
          f.arena.copy(escape_property(key.as_string()).value_or(std::string(key.as_string())))));
    list.add(keys.build());
    for (const json::Value& item : document.items())
      list.add(typed_value(f, item, schema["items"], embedded(schema["items"])));
    Value v = Value::of_items(list.data() + 1, list.size() - 1);
    v.list_type = list_type == "set"   ? Value::kSet
                  : list_type == "map" ? Value::kKeyed
                                       : Value::kAtomic;
    return v;
  }
  if (type == "object") {
    if (!document.is_object())
      return field_error(f,
                         "invalid data, expected a map for the provided schema with type=object");
    MapBuilder map(f.arena);
    const json::Value& extra = schema["additionalProperties"];
    const json::Value properties = properties_of(schema, root || embedded(schema));
    const bool preserves = schema["x-kubernetes-preserve-unknown-fields"].as_bool();
    for (const json::Member& m : document.members()) {
      if (extra.is_object()) {
        map.add(Value::of_text(m.key()), typed_value(f, m.value, extra, embedded(extra)));
        continue;
      }
      const json::Value* property = properties.find(m.key());
      const auto escaped = escape_property(m.key());
      // Not visible to rules, but used when objects are compared.
      if (property == nullptr && (preserves || !escaped))
        map.add(Value::of_text(m.key()), Value::of_json(m.value));
      if (property == nullptr || m.value.is_null()) continue;
      if (!escaped) {
        map.add(Value::of_text(m.key()), Value::of_json(m.value));
        continue;
      }
      const Value v = typed_value(f, m.value, *property, embedded(*property));
      map.add(Value::of_text(f.arena.copy(*escaped)), v);
      if (*escaped != m.key()) map.add(Value::of_text(m.key()), v);
    }
    return map.build();
  }
  if (type == "string") {
    if (!document.is_string())
      return field_error(
          f, cat("invalid data, expected a string for the provided schema with type=string"));
    const std::string_view format = schema["format"].as_string();
    const std::string_view text = document.as_string();
    if (format == "byte") {
      const auto bytes = base64_decode(text);
      return bytes ? Value::of_bytes(f.arena.copy(*bytes)) : field_error(f, "invalid byte data");
    }
    if (format == "duration") {
      const auto d = parse_duration(text);
      return d ? Value::of_duration(*d) : field_error(f, cat("invalid duration ", quoted(text)));
    }
    if (format == "date" || format == "date-time") {
      const auto t = parse_timestamp(format == "date" ? cat(text, "T00:00:00Z")
                                                      : std::string(text));
      return t ? with_offset(*t, text) : field_error(f, cat("invalid timestamp ", quoted(text)));
    }
    return Value::of_text(text);
  }
  if (type == "number" && document.is_int())
    return Value::of_double(static_cast<double>(document.as_int()));
  if (type == "integer" && document.is_double()) return Value::of_int(document.as_int());
  return Value::of_json(document);
}

}  // namespace cardea::cel
