#include "catalog/kinds/check.h"
#include "catalog/kinds/core/core_strategies.h"

namespace cardea::catalog {
namespace {

constexpr std::size_t kMaxBytes = 1024 * 1024;
constexpr const char* kImmutable = "field is immutable when `immutable` is set";

std::size_t decoded_size(std::string_view base64_text) {
  auto bytes = base64_decode(base64_text);
  return bytes ? bytes->size() : 0;
}

void validate_content(const Value& object, FieldErrors& out) {
  std::size_t bytes = 0;
  for (const json::Member& m : object["data"].members()) {
    Path path = Path("data").key(m.key());
    complain(path, m.key(), config_map_key(m.key()), out);
    if (object["binaryData"].has(m.key()))
      out.push_back(json::invalid(path, m.key(), "duplicate of key present in binaryData"));
    bytes += m.value.as_string().size();
  }
  for (const json::Member& m : object["binaryData"].members()) {
    complain(Path("binaryData").key(m.key()), m.key(), config_map_key(m.key()), out);
    bytes += decoded_size(m.value.as_string());
  }
  // The error has no field; Kubernetes shows this as [].
  if (bytes > kMaxBytes) out.push_back(json::too_long("[]", kMaxBytes));
}

FieldErrors validate(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, true, name_is_dns_subdomain, out);
  validate_content(object, out);
  return out;
}

FieldErrors validate_update(const Value& object, const Value& old, const StrategyContext& context) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  if (old["immutable"].as_bool()) {
    if (!object["immutable"].as_bool()) out.push_back(json::forbidden("immutable", kImmutable));
    for (const char* key : {"data", "binaryData"})
      if (!semantically_equal(object[key], old[key]))
        out.push_back(json::forbidden(key, kImmutable));
  }
  for (auto& error : validate(object, context)) out.push_back(std::move(error));
  return out;
}

}  // namespace

const Strategy& config_map_strategy() {
  static const Strategy strategy{.validate_create = validate, .validate_update = validate_update};
  return strategy;
}

}  // namespace cardea::catalog
