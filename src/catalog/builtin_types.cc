#include "catalog/builtin_types.h"

#include <algorithm>

#include "base/result.h"
#include "catalog/data.h"
#include "json/parse.h"
#include "json/print.h"

namespace cardea::catalog {

using json::Value;
using schema::Held;
using schema::Property;
using schema::Schema;

namespace {

// Names of Kubernetes' own types are written without their common prefix.
std::string full_name(std::string_view name) {
  return name.starts_with("dev.cardea.") ? std::string(name) : cat("io.k8s.", name);
}

// Gives a node the form that one word of the data files names.
void shape_scalar(Schema& node, std::string_view word) {
  if (word == "string" || word == "byte" || word == "date-time") {
    node.type = Schema::Type::kString;
    if (word != "string") node.format = word;
  } else if (word == "boolean") {
    node.type = Schema::Type::kBoolean;
  } else if (word == "int32" || word == "int64") {
    node.type = Schema::Type::kInteger;
    node.format = word;
  } else if (word == "double") {
    node.type = Schema::Type::kNumber;
    node.format = word;
  } else if (word == "int-or-string" || word == "quantity") {
    node.type = Schema::Type::kIntOrString;
    node.format = word;
  } else if (word == "raw") {
    node.type = Schema::Type::kObject;
    node.preserve_unknown_fields = true;
  } else if (word == "object") {
    node.type = Schema::Type::kObject;
  } else {
    CARDEA_CHECK(word == "any");
    node.preserve_unknown_fields = true;
  }
}

Held held_of(char letter) {
  switch (letter) {
    case 's':
      return Held::kScalar;
    case 'p':
      return Held::kPointer;
    case 't':
      return Held::kStruct;
    case 'l':
      return Held::kList;
    case 'm':
      return Held::kMap;
    case 'r':
      return Held::kRaw;
    default:
      return Held::kFreely;
  }
}

}  // namespace

class BuiltinTypes::Builder {
 public:
  explicit Builder(BuiltinTypes& out) : out_(out) {}

  void run() {
    read_lines();
    for (const Value& line : lines_) declare(line);
    for (const Value& line : lines_) fill(line);
    for (const Variant& variant : variants_) finish(variant);
    for (std::string_view version : {"v1", "v1beta1"}) add_partial_metadata(version);
  }

 private:
  // A use of a type that merges in another way than the type itself. It is a copy, made when all
  // types are complete.
  struct Variant {
    Schema* node;
    const Schema* original;
    Value shape;
  };

  void read_lines() {
    std::string_view text = types_data();
    while (!text.empty()) {
      auto end = text.find('\n');
      auto line = json::parse(text.substr(0, end));
      CARDEA_CHECK(line.has_value());
      lines_.push_back(std::move(*line));
      text.remove_prefix(end + 1);
    }
  }

  void declare(const Value& line) {
    if (line["adds"].as_bool()) {
      auto same = [&](const Schema* s) {
        return s->type_name == full_name(line["name"].as_string());
      };
      auto at = std::ranges::find_if(nodes_, same);
      CARDEA_CHECK(at != nodes_.end());
      nodes_.push_back(*at);
      return;
    }
    Schema* node = out_.nodes_.make();
    node->type_name = full_name(line["name"].as_string());
    shape_scalar(*node, line["kind"].as_string());
    if (line["map"].as_string() == "atomic") node->map_type = Schema::MapType::kAtomic;
    Type type{node, {}};
    for (const Value& gvk : line["gvk"].items()) {
      auto& kind = type.kinds.emplace_back(std::string(gvk[0].as_string()),
                                           std::string(gvk[1].as_string()),
                                           std::string(gvk[2].as_string()));
      out_.kinds_.emplace(cat(kind.group, "/", kind.version, "/", kind.kind), node);
    }
    nodes_.push_back(node);
    out_.types_.emplace(node->type_name, std::move(type));
  }

  void fill(const Value& line) {
    Schema* node = nodes_[filled_++];
    auto fields = line["fields"].items();
    node->properties.reserve(fields.size());
    for (const Value& field : fields) {
      Property property{.name = std::string(field[0].as_string()), .schema = shape(field[3])};
      property.number = static_cast<std::uint32_t>(field[2].as_int());
      std::string_view flags = field[1].as_string();
      if (!flags.empty()) property.held = held_of(flags[0]);
      property.omit_empty = flags.find('o') != flags.npos;
      property.omit_zero = flags.find('z') != flags.npos;
      property.required = flags.find('!') != flags.npos;
      property.wrapped = flags.find('w') != flags.npos;
      property.added = line["adds"].as_bool();
      node->properties.push_back(std::move(property));
    }
    if (line["adds"].as_bool()) std::ranges::sort(node->properties, {}, &Property::name);
    node->order_by_number();
  }

  const Schema* shape(const Value& form) {
    if (form.is_string() && form.as_string().starts_with('@'))
      return named(form.as_string().substr(1));
    std::string key = json::print(form);
    auto [at, added] = shared_.emplace(std::move(key), nullptr);
    if (added) at->second = make(form);
    return at->second;
  }

  const Schema* named(std::string_view name) const {
    const Schema* found = out_.find(full_name(name));
    CARDEA_CHECK(found);
    return found;
  }

  const Schema* make(const Value& form) {
    Schema* node = out_.nodes_.make();
    if (form.is_string()) {
      shape_scalar(*node, form.as_string());
    } else if (form.has("list")) {
      node->type = Schema::Type::kArray;
      std::string_view type = form["type"].as_string();
      if (type == "set") node->list_type = Schema::ListType::kSet;
      if (type == "map") node->list_type = Schema::ListType::kMap;
      for (const Value& key : form["keys"].items()) node->map_keys.emplace_back(key.as_string());
      node->patch_strategy = form["strategy"].as_string();
      node->patch_merge_key = form["key"].as_string();
      node->items = shape(form["list"]);
    } else if (form.has("is")) {
      make_variant(node, form);
    } else {
      node->type = Schema::Type::kObject;
      if (form["atomic"].as_bool()) node->map_type = Schema::MapType::kAtomic;
      node->additional = shape(form["map"]);
    }
    return node;
  }

  void make_variant(Schema* node, const Value& form) {
    std::string_view base = form["is"].as_string();
    if (base.starts_with('@')) {
      variants_.push_back({node, named(base.substr(1)), form});
      return;
    }
    shape_scalar(*node, base);
    for (const Value& allowed : form["enum"].items()) node->enumeration.push_back(allowed);
    if (const Value* value = form.find("default")) node->default_value = *value;
  }

  void finish(const Variant& variant) {
    *variant.node = *variant.original;
    variant.node->patch_strategy = variant.shape["strategy"].as_string();
    if (std::string_view map = variant.shape["map"].as_string(); !map.empty())
      variant.node->map_type = map == "atomic" ? Schema::MapType::kAtomic
                                               : Schema::MapType::kGranular;
  }

  // The kinds that clients ask for instead of an object or a list. No OpenAPI document has them.
  void add_partial_metadata(std::string_view version) {
    const bool is_beta = version == "v1beta1";
    auto metadata = [&](std::string_view type, std::uint32_t number) {
      return Property{.name = "metadata",
                      .schema = named(cat("apimachinery.pkg.apis.meta.v1.", type)),
                      .number = number,
                      .held = Held::kStruct};
    };
    Schema* one = add_meta_kind(version, "PartialObjectMetadata", {metadata("ObjectMeta", 1)});
    Schema* items = out_.nodes_.make();
    items->type = Schema::Type::kArray;
    items->items = one;
    add_meta_kind(
        version, "PartialObjectMetadataList",
        {{.name = "items", .schema = items, .number = is_beta ? 1u : 2u, .held = Held::kList},
         metadata("ListMeta", is_beta ? 2 : 1)});
  }

  Schema* add_meta_kind(std::string_view version, std::string_view kind,
                        std::vector<Property> properties) {
    Schema* node = out_.nodes_.make();
    node->type = Schema::Type::kObject;
    node->type_name = cat("io.k8s.apimachinery.pkg.apis.meta.", version, ".", kind);
    node->properties = std::move(properties);
    node->order_by_number();
    out_.kinds_.emplace(cat("meta.k8s.io/", version, "/", kind), node);
    return node;
  }

  BuiltinTypes& out_;
  std::vector<Value> lines_;
  std::vector<Schema*> nodes_;
  std::size_t filled_ = 0;
  std::unordered_map<std::string, const Schema*> shared_;  // nodes without a name, by their form
  std::vector<Variant> variants_;
};

BuiltinTypes::BuiltinTypes() {
  Builder(*this).run();
}

const Schema* BuiltinTypes::find(std::string_view name) const {
  auto at = types_.find(name);
  return at == types_.end() ? nullptr : at->second.schema;
}

const Schema* BuiltinTypes::find_kind(std::string_view group, std::string_view version,
                                      std::string_view kind) const {
  auto at = kinds_.find(cat(group, "/", version, "/", kind));
  return at == kinds_.end() ? nullptr : at->second;
}

}  // namespace cardea::catalog
