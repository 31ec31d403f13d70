// rooms: json schema
// A patch and a document, cut apart at the first zero byte, through all three kinds of patch and
// apply. Each must give a document that prints and reads back as itself, or an error; never more
// depth than the parser reads.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "json/parse.h"
#include "json/patch.h"
#include "json/print.h"
#include "schema/ownership/apply.h"
#include "schema/ownership/managed_fields.h"
#include "schema/ownership/strategic_merge.h"

namespace {

using cardea::Result;
using cardea::json::Value;
using cardea::schema::Schema;

// A type that holds itself, with every kind of list and map, under one-letter names a fuzzer finds.
struct Shapes {
  cardea::schema::SchemaSet set;
  Schema* root = make(Schema::Type::kObject);

  Shapes() {
    Schema* text = make(Schema::Type::kString);
    Schema* by_name = make(Schema::Type::kArray);
    by_name->items = root;
    by_name->list_type = Schema::ListType::kMap;
    by_name->map_keys = {"n"};
    by_name->patch_strategy = "merge";
    by_name->patch_merge_key = "n";
    Schema* values = make(Schema::Type::kArray);
    values->items = text;
    values->list_type = Schema::ListType::kSet;
    values->patch_strategy = "merge";
    Schema* map = make(Schema::Type::kObject);
    map->additional = text;
    Schema* whole = make(Schema::Type::kObject);
    whole->additional = text;
    whole->map_type = Schema::MapType::kAtomic;
    whole->patch_strategy = "replace";
    Schema* any = make(Schema::Type::kAny);
    root->properties = {{"a", whole},      {"g", any},  {"l", by_name}, {"m", map},
                        {"metadata", any}, {"n", text}, {"o", root},    {"v", values}};
  }
  Schema* make(Schema::Type type) {
    Schema* schema = set.make();
    schema->type = type;
    return schema;
  }
};

void check(const Result<Value>& result) {
  if (!result) {
    if (result.error().message.empty()) std::abort();
    return;
  }
  auto again = cardea::json::parse(cardea::json::print(*result));
  if (!again || cardea::json::print(*again) != cardea::json::print(*result)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Shapes shapes;
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::size_t cut = bytes.find('\0');
  if (cut == std::string_view::npos) return 0;
  auto patch = cardea::json::parse(bytes.substr(0, cut));
  auto document = cardea::json::parse(bytes.substr(cut + 1));
  if (!patch || !document || !document->is_object()) return 0;

  check(cardea::json::apply_json_patch(*document, *patch));
  check(cardea::json::apply_merge_patch(*document, *patch));
  check(cardea::schema::apply_strategic_merge_patch(*document, *patch, *shapes.root));
  if (!patch->is_object()) return 0;

  // Metadata of another kind never gets past the decoder.
  for (const auto* side : {&*patch, &*document})
    if (const Value* metadata = side->find("metadata"); metadata && !metadata->is_object())
      return 0;
  Value config = *patch;
  config.set("apiVersion", "v1");
  config.set("kind", "K");
  if (config["metadata"].is_object()) config.member("metadata").erase("managedFields");
  cardea::schema::ApplyRequest request{"m", true, "v1", "K", "", "T", nullptr, {}};
  check(cardea::schema::apply(&*document, config, *shapes.root, request));
  cardea::schema::UpdateRequest update{"u", "v1", "", "T"};
  check(cardea::schema::track_update(&*document, *patch, *shapes.root, update));
  check(cardea::schema::track_update(nullptr, *patch, *shapes.root, update));
  return 0;
}
