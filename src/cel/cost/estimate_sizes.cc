#include <algorithm>

#include "cel/check/schema_types.h"
#include "cel/cost/estimate.h"

namespace cardea::cel {
namespace {

constexpr std::int64_t kRequest = 3 * 1024 * 1024;  // bytes of the largest request

std::unique_ptr<DataSize> leaf(std::int64_t min_json, std::int64_t max_elements = 0) {
  auto out = std::make_unique<DataSize>();
  out->min_json = min_json;
  out->max_elements = max_elements;
  return out;
}

std::optional<std::int64_t> limit(const json::Value& schema, std::string_view key) {
  const json::Value* v = schema.find(key);
  if (v == nullptr || !v->is_number()) return std::nullopt;
  return std::max<std::int64_t>(v->as_int(), 0);
}

// There, lengths are counted in characters; here, in bytes.
std::optional<std::int64_t> text_limit(const json::Value& schema) {
  const auto characters = limit(schema, "maxLength");
  if (!characters) return std::nullopt;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(*characters) * 4);
}

std::unique_ptr<DataSize> text_size(const json::Value& schema) {
  const std::string_view format = schema["format"].as_string();
  if (format == "byte") return leaf(2, limit(schema, "maxLength").value_or(kRequest - 2));
  if (format == "duration") return leaf(3, 32);
  if (format == "date") return leaf(12, 12);
  if (format == "date-time") return leaf(21, 32);
  if (const auto most = text_limit(schema)) return leaf(2, *most);
  std::int64_t longest = 0;
  for (const json::Value& v : schema["enum"].items())
    longest = std::max(longest, static_cast<std::int64_t>(v.as_string().size()));
  return leaf(2, schema["enum"].empty() ? kRequest - 2 : longest);
}

bool typed(const json::Value& properties, std::string_view name, std::string_view type) {
  return properties[name]["type"].as_string() == type;
}

// The metadata of an object is replaced unless the schema describes it in full.
json::Value resource_properties(const json::Value& schema) {
  const json::Value& own = schema["properties"];
  const json::Value& meta = own["metadata"]["properties"];
  if (typed(own, "kind", "string") && typed(own, "apiVersion", "string") &&
      typed(own, "metadata", "object") && typed(meta, "name", "string") &&
      typed(meta, "generateName", "string"))
    return own;
  const json::Value text = json::Value::object({{"type", "string"}});
  json::Value out = own.is_object() ? own : json::Value::object();
  out.set("kind", text);
  out.set("apiVersion", text);
  out.set("metadata",
          json::Value::object(
              {{"type", "object"},
               {"properties", json::Value::object({{"name", text}, {"generateName", text}})}}));
  return out;
}

bool is_embedded(const json::Value& schema) {
  return schema["x-kubernetes-embedded-resource"].as_bool();
}

std::unique_ptr<DataSize> object_size(const json::Value& schema, bool root) {
  auto out = leaf(2);
  const json::Value properties = root ? resource_properties(schema) : schema["properties"];
  for (const json::Member& m : properties.members()) {
    auto field = data_size(m.value, is_embedded(m.value));
    if (field == nullptr) continue;
    const bool required = std::ranges::any_of(
        schema["required"].items(),
        [&](const json::Value& name) { return name.as_string() == m.key(); });
    // A field with a default need not be in the request.
    if (required && m.value["default"].is_null())
      out->min_json += static_cast<std::int64_t>(m.key().size()) + field->min_json + 4;
    if (const auto escaped = escape_property(m.key())) out->fields[*escaped] = std::move(field);
  }
  return out;
}

}  // namespace

std::unique_ptr<DataSize> data_size(const json::Value& schema, bool root) {
  if (schema["x-kubernetes-int-or-string"].as_bool())
    return leaf(1, text_limit(schema).value_or(kRequest - 2));
  const std::string_view type = schema["type"].as_string();
  if (type == "array") {
    auto element = data_size(schema["items"], is_embedded(schema["items"]));
    if (element == nullptr) return nullptr;
    auto out = leaf(2,
                    limit(schema, "maxItems").value_or((kRequest - 2) / (element->min_json + 1)));
    out->element = std::move(element);
    return out;
  }
  if (type == "object") {
    const json::Value& extra = schema["additionalProperties"];
    if (!extra.is_object()) return object_size(schema, root);
    auto element = data_size(extra, is_embedded(extra));
    if (element == nullptr) return nullptr;
    auto out = leaf(
        2, limit(schema, "maxProperties").value_or((kRequest - 2) / (element->min_json + 6)));
    out->element = std::move(element);
    out->key = leaf(2);
    return out;
  }
  if (type == "string") return text_size(schema);
  if (type == "boolean") return leaf(4);
  if (type == "number" || type == "integer") return leaf(1);
  return nullptr;
}

const DataSize& device_size() {
  constexpr std::int64_t kDomain = 63, kName = 32, kValue = 64, kMostAttributes = 32;
  const auto map = [](std::int64_t key, std::unique_ptr<DataSize> element, bool by_name) {
    auto out = leaf(2, kMostAttributes);
    out->key = leaf(2, key);
    out->element = std::move(element);
    out->names_elements = by_name;
    return out;
  };
  static const std::unique_ptr<const DataSize> size = [&] {
    auto out = leaf(2);
    out->variable = "device";
    out->fields["driver"] = leaf(2, kDomain);
    out->fields["allowMultipleAllocations"] = leaf(4, 1);
    out->fields["attributes"] = map(kDomain, map(kName, leaf(1, kValue), true), false);
    out->fields["capacity"] = map(kDomain, map(kName, leaf(8), false), false);
    return out;
  }();
  return *size;
}

std::uint64_t most_occurrences(const DataSize& size) {
  return static_cast<std::uint64_t>(kRequest / (size.min_json + 1));
}

}  // namespace cardea::cel
