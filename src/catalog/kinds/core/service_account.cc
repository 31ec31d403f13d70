#include "catalog/kinds/check.h"
#include "catalog/kinds/core/core_strategies.h"

namespace cardea::catalog {
namespace {

constexpr const char* kMountable = "kubernetes.io/enforce-mountable-secrets";

// Of a reference to a secret only the name is used.
void clean_secrets(Value& object) {
  edit_items(object, "secrets", [](Value& secret) {
    Value name = secret["name"];
    secret = Value::object();
    if (!name.is_null()) secret.set("name", std::move(name));
  });
}

void prepare_create(Value& object, const StrategyContext&) {
  clean_secrets(object);
}
void prepare_update(Value& object, const Value&, const StrategyContext&) {
  clean_secrets(object);
}

FieldErrors validate(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, true, name_is_dns_subdomain, out);
  return out;
}

FieldErrors validate_update(const Value& object, const Value& old, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  validate_kind_meta(object, true, name_is_dns_subdomain, out);
  return out;
}

std::vector<std::string> warnings(const Value& object, const Value* old, const StrategyContext&) {
  if (!object["metadata"]["annotations"].has(kMountable) ||
      (old && (*old)["metadata"]["annotations"].has(kMountable)))
    return {};
  return {cat(
      "metadata.annotations[", kMountable,
      "]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets")};
}

}  // namespace

const Strategy& service_account_strategy() {
  static const Strategy strategy{
      .prepare_for_create = prepare_create,
      .prepare_for_update = prepare_update,
      .validate_create = validate,
      .validate_update = validate_update,
      .warnings = warnings,
      .returns_deleted_object = true,
  };
  return strategy;
}

}  // namespace cardea::catalog
