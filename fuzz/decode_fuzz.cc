// rooms: catalog schema json base
// Bodies and schemas from outside: nothing a client sends may crash the reader, and what it reads
// it must be able to read again.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/builtin_types.h"
#include "catalog/definition.h"
#include "json/parse.h"
#include "json/print.h"
#include "schema/custom/check_schema.h"
#include "schema/custom/defaults.h"
#include "schema/custom/prune.h"
#include "schema/custom/structural.h"
#include "schema/custom/validate.h"
#include "schema/wire/decode.h"

using namespace cardea;

namespace {

const catalog::BuiltinTypes& types() {
  static const catalog::BuiltinTypes all;
  return all;
}

void read_builtin(const json::Document& document, std::string_view text, std::uint8_t choice) {
  static constexpr std::string_view kTypes[] = {
      "io.k8s.api.core.v1.Pod", "io.k8s.api.core.v1.Secret", "io.k8s.api.apps.v1.Deployment",
      "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"};
  const schema::Schema* type = types().find(kTypes[choice % std::size(kTypes)]);
  if (!type) std::abort();
  auto decoded = schema::decode(*type, document, text);
  if (!decoded) return;
  if (!(schema::normalize(*type, decoded->value) == decoded->value)) std::abort();
  if (choice % std::size(kTypes) != 3) return;
  json::Value definition = decoded->value;
  const catalog::Strategy& strategy = catalog::definition_strategy();
  strategy.defaults(definition, {});
  strategy.prepare_for_create(definition, {});
  (void)strategy.validate_create(definition, {});
  (void)strategy.warnings(definition, nullptr, {});
}

// The first half of the input is a schema, the second an object.
void read_custom(const json::Value& open_api, const json::Document& document,
                 std::string_view text) {
  const schema::Schema& meta = *types().find("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
  if (!schema::check_custom_schema(open_api, "s", meta, {}).empty()) return;
  schema::SchemaSet set;
  const schema::Schema& root = *schema::build_structural(set, open_api, &meta);
  auto decoded = schema::decode_custom(root, meta, document, text);
  if (!decoded) return;
  json::Value object = schema::apply_defaults(root, decoded->value);
  if (!(schema::apply_defaults(root, object) == object)) std::abort();
  std::vector<std::string> warnings;
  (void)schema::validate_custom(root, meta, object, nullptr, false, warnings);
  (void)schema::validate_custom(root, meta, object, &decoded->value, false, warnings);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  if (auto document = json::parse_document(text)) {
    read_builtin(*document, text, data[0]);
    return 0;
  }
  auto line = text.find('\n');
  if (line == text.npos) return 0;
  auto open_api = json::parse(text.substr(0, line));
  auto document = json::parse_document(text.substr(line + 1));
  if (open_api && document && open_api->is_object())
    read_custom(*open_api, *document, text.substr(line + 1));
  return 0;
}
