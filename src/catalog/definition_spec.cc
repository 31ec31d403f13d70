#include "catalog/definition_spec.h"

#include <algorithm>

#include "base/strings.h"
#include "catalog/kinds/names.h"
#include "schema/custom/check_schema.h"

namespace cardea::catalog {

using json::FieldErrors;
using json::Member;
using json::Value;

using schema::Schema;

namespace {

std::string_view text(const Value& object, std::string_view key) {
  return object[key].as_string();
}

// The type of metadata, for defaults inside embedded resources. A hook is a pure function and has
// no catalogue.
class PlainObjectMeta {
 public:
  PlainObjectMeta() {
    Schema* owner = object();
    owner->type_name = "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference";
    for (const char* name : {"apiVersion", "kind", "name", "uid"})
      add(owner, name, scalar(Schema::Type::kString));
    for (const char* name : {"blockOwnerDeletion", "controller"})
      add(owner, name, scalar(Schema::Type::kBoolean));
    root_ = object();
    root_->type_name = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    for (const char* name :
         {"generateName", "name", "namespace", "resourceVersion", "selfLink", "uid"})
      add(root_, name, scalar(Schema::Type::kString));
    for (const char* name : {"creationTimestamp", "deletionTimestamp"})
      add(root_, name, scalar(Schema::Type::kString, "date-time"));
    for (const char* name : {"deletionGracePeriodSeconds", "generation"})
      add(root_, name, scalar(Schema::Type::kInteger, "int64"));
    for (const char* name : {"annotations", "labels"}) {
      Schema* map = object();
      map->additional = scalar(Schema::Type::kString);
      add(root_, name, map);
    }
    add(root_, "finalizers", list(scalar(Schema::Type::kString)));
    add(root_, "managedFields", list(scalar(Schema::Type::kAny)));
    add(root_, "ownerReferences", list(owner));
  }
  const Schema& root() const { return *root_; }

 private:
  Schema* object() { return scalar(Schema::Type::kObject); }
  Schema* scalar(Schema::Type type, const char* format = "") {
    Schema* s = set_.make();
    s->type = type;
    s->format = format;
    return s;
  }
  Schema* list(const Schema* items) {
    Schema* s = scalar(Schema::Type::kArray);
    s->items = items;
    return s;
  }
  static void add(Schema* to, const char* name, const Schema* schema) {
    to->properties.push_back({.name = name, .schema = schema});
    std::ranges::sort(to->properties, {}, &schema::Property::name);
  }

  schema::SchemaSet set_;
  Schema* root_;
};

const Schema& object_meta() {
  static const PlainObjectMeta meta;
  return meta.root();
}

void invalid_name(FieldErrors& out, const Path& path, const Value& value, std::string_view checked,
                  std::string_view before = "") {
  if (auto complaints = dns1035_label(checked); !checked.empty() && !complaints.empty())
    out.push_back(json::invalid(path, value, cat(before, join(complaints, ","))));
}

void validate_replicas_path(const Value& scale, const char* key, std::string_view under,
                            const Path& path, FieldErrors& out) {
  std::string_view value = text(scale, key);
  Path at = path / cat("scale.", key);
  if (value.empty())
    out.push_back(json::required(at));
  else if (value[0] != '.')
    out.push_back(json::invalid(at, value, "must be a simple json path starting with ."));
  else if (!value.starts_with(cat(".", under, ".")))
    out.push_back(json::invalid(at, value, cat("should be a json path under .", under)));
}

void validate_subresources(const Value& subresources, const Path& path, FieldErrors& out) {
  const Value& scale = subresources["scale"];
  if (scale.is_null()) return;
  validate_replicas_path(scale, "specReplicasPath", "spec", path, out);
  validate_replicas_path(scale, "statusReplicasPath", "status", path, out);
  std::string_view selector = text(scale, "labelSelectorPath");
  Path at = path / "scale.labelSelectorPath";
  if (selector.empty()) return;
  if (selector[0] != '.')
    out.push_back(json::invalid(at, selector, "must be a simple json path starting with ."));
  else if (!selector.starts_with(".spec.") && !selector.starts_with(".status."))
    out.push_back(
        json::invalid(at, selector, "should be a json path under either .spec or .status"));
}

void validate_columns(const Value& columns, const Path& path, FieldErrors& out) {
  constexpr std::string_view kTypes[] = {"boolean", "date", "integer", "number", "string"};
  constexpr std::string_view kFormats[] = {"byte",  "date",  "date-time", "double",
                                           "float", "int32", "int64",     "password"};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Value& column = columns[i];
    Path at = path.index(i);
    if (text(column, "name").empty()) out.push_back(json::required(at / "name"));
    std::string_view type = text(column, "type"), format = text(column, "format"),
                     where = text(column, "jsonPath");
    constexpr const char* kTypeDetail = "must be one of boolean,date,integer,number,string";
    if (type.empty())
      out.push_back(json::required(at / "type", kTypeDetail));
    else if (std::ranges::find(kTypes, type) == std::end(kTypes))
      out.push_back(json::invalid(at / "type", type, kTypeDetail));
    if (!format.empty() && std::ranges::find(kFormats, format) == std::end(kFormats))
      out.push_back(
          json::invalid(at / "format", format,
                        "must be one of byte,date,date-time,double,float,int32,int64,password"));
    if (where.empty())
      out.push_back(json::required(at / "JSONPath"));
    else if (where[0] != '.')
      out.push_back(
          json::invalid(at / "JSONPath", where, "must be a simple json path starting with ."));
  }
}

void validate_selectable(const Value& fields, const Value& schema, const Path& path,
                         FieldErrors& out) {
  constexpr int kMost = 8;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    std::string_view where = text(fields[i], "jsonPath");
    Path at = path.index(i) / "jsonPath";
    if (where.empty()) {
      out.push_back(json::required(at));
      continue;
    }
    auto found = schema::find_field(schema, where, false);
    if (!found) {
      out.push_back(json::invalid(at, where, cat("is an invalid path: ", found.error().message)));
      continue;
    }
    if (found->root == "metadata")
      out.push_back(json::invalid(at, where, "must not point to fields in metadata"));
    std::string_view type = text(found->schema, "type");
    if (type != "string" && type != "boolean" && type != "integer")
      out.push_back(
          json::invalid(at, where,
                        "must point to a field of type string, boolean or integer. Enum string "
                        "fields and strings with formats are allowed."));
    if (!seen.insert(found->path).second) out.push_back(json::duplicate(at, where));
  }
  if (seen.size() > kMost)
    out.push_back(json::too_many(path, static_cast<int>(seen.size()), kMost));
}

void validate_deprecation(const Value& version, const Path& path, FieldErrors& out) {
  const Value* warning = version.find("deprecationWarning");
  if (!warning) return;
  auto add = [&](std::string detail) {
    out.push_back(json::invalid(path / "deprecationWarning", *warning, std::move(detail)));
  };
  std::string_view message = warning->as_string();
  if (!version["deprecated"].as_bool()) return add("can only be set for deprecated versions");
  if (message.size() > 256) add("must be <= 256 characters long");
  if (message.empty()) add("must not be an empty string");
  for (std::size_t i = 0; i < message.size(); ++i) {
    auto c = static_cast<unsigned char>(message[i]);
    if (c >= 0x20 && c != 0x7f) continue;
    add(cat("must only contain printable UTF-8 characters; non-printable character found at index ",
            i));
    break;
  }
}

// Whether the stored definition has this version with exactly this schema.
bool has_same_schema(const Value* old, const Value& version) {
  if (!old) return false;
  return std::ranges::any_of((*old)["versions"].items(), [&](const Value& v) {
    return v["name"] == version["name"] &&
           v["schema"]["openAPIV3Schema"] == version["schema"]["openAPIV3Schema"];
  });
}

void validate_schema(const Value& version, const Path& path, bool status, const Value* old,
                     FieldErrors& out) {
  const Value& open_api = version["schema"]["openAPIV3Schema"];
  if (!open_api.is_object()) return;
  schema::SchemaChecks checks{.status_subresource = status,
                              .unchanged = has_same_schema(old, version)};
  std::ranges::move(
      schema::check_custom_schema(open_api, path / "openAPIV3Schema", object_meta(), checks),
      std::back_inserter(out));
}

bool has_status(const Value& version) {
  return !version["subresources"]["status"].is_null();
}

void validate_version(const Value& version, const SharedByVersions& shared, const Path& path,
                      const Value* old, FieldErrors& out) {
  if (auto complaints = dns1035_label(text(version, "name")); !complaints.empty())
    out.push_back(json::invalid(path / "name", text(version, "name"), join(complaints, ",")));
  validate_deprecation(version, path, out);
  if (!shared.has("schema"))
    validate_schema(version, path / "schema", has_status(version), old, out);
  if (!shared.has("subresources"))
    validate_subresources(version["subresources"], path / "subresources", out);
  if (!shared.has("additionalPrinterColumns"))
    validate_columns(version["additionalPrinterColumns"], path / "additionalPrinterColumns", out);
  if (shared.has("selectableFields") || version["selectableFields"].empty()) return;
  if (shared.has("schema"))
    out.push_back(
        json::invalid(path / "selectableFields", "",
                      "may only be set when `version.schema.openAPIV3Schema` is not included"));
  else
    validate_selectable(version["selectableFields"], version["schema"]["openAPIV3Schema"],
                        path / "selectableFields", out);
}

bool has_default(const Value& schema) {
  if (!schema.is_object()) return false;
  if (!schema["default"].is_null()) return true;
  for (const char* key : {"items", "additionalProperties", "not"})
    if (has_default(schema[key])) return true;
  for (const char* key : {"allOf", "anyOf", "oneOf"})
    if (std::ranges::any_of(schema[key].items(), has_default)) return true;
  return std::ranges::any_of(schema["properties"].members(),
                             [](const Member& m) { return has_default(m.value); });
}

void validate_versions(const Value& spec, const SharedByVersions& shared, const Value* old,
                       FieldErrors& out) {
  const Value& versions = spec["versions"];
  Path path("spec.versions");
  int stored = 0;
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < versions.size(); ++i) {
    stored += versions[i]["storage"].as_bool();
    names.insert(text(versions[i], "name"));
    validate_version(versions[i], shared, path.index(i), old, out);
  }
  auto whole = [&](std::string_view detail) {
    out.push_back(json::shown_as(json::invalid(path, versions, std::string(detail)),
                                 shown_versions(versions, shared)));
  };
  if (names.size() != versions.size()) whole("must contain unique version names");
  if (stored != 1) whole("must have exactly one version marked as storage version");
  if (versions.empty()) return;
  if (auto complaints = dns1035_label(text(versions[0], "name"));
      !text(versions[0], "name").empty() && !complaints.empty())
    out.push_back(json::invalid("spec.version", text(versions[0], "name"), join(complaints, ",")));
}

}  // namespace

SharedByVersions::SharedByVersions(const Value& versions) {
  for (const char* key :
       {"schema", "subresources", "additionalPrinterColumns", "selectableFields"}) {
    auto same = [&](const Value& v) { return v[key] == versions[0][key]; };
    if (std::ranges::all_of(versions.items(), same)) keys_.insert(key);
  }
}

void validate_definition_names(const Value& names, const Path& path, FieldErrors& out) {
  constexpr std::string_view kMixed = "may have mixed case, but should otherwise match: ";
  invalid_name(out, path / "plural", names["plural"], text(names, "plural"));
  invalid_name(out, path / "singular", names["singular"], text(names, "singular"));
  invalid_name(out, path / "kind", names["kind"], lower(text(names, "kind")), kMixed);
  invalid_name(out, path / "listKind", names["listKind"], lower(text(names, "listKind")), kMixed);
  auto each = [&](const char* key) {
    for (std::size_t i = 0; i < names[key].size(); ++i) {
      std::string_view name = names[key][i].as_string();
      if (auto complaints = dns1035_label(name); !complaints.empty())
        out.push_back(json::invalid((path / key).index(i), name, join(complaints, ",")));
    }
  };
  each("shortNames");
  if (!text(names, "kind").empty() && text(names, "kind") == text(names, "listKind"))
    out.push_back(json::invalid(path / "listKind", names["listKind"],
                                "kind and listKind may not be the same"));
  each("categories");
}

void validate_definition_spec(const Value& spec, const Value* old, FieldErrors& out) {
  std::string_view group = text(spec, "group"), scope = text(spec, "scope");
  if (group.empty())
    out.push_back(json::required("spec.group"));
  else if (auto complaints = dns1123_subdomain(group); !complaints.empty())
    out.push_back(json::invalid("spec.group", group, join(complaints, ",")));
  else if (group.find('.') == group.npos)
    out.push_back(json::invalid("spec.group", group, "should be a domain with at least one dot"));
  if (scope.empty())
    out.push_back(json::required("spec.scope"));
  else if (scope != "Cluster" && scope != "Namespaced")
    out.push_back(json::not_supported("spec.scope", scope, {"Cluster", "Namespaced"}));

  const Value& versions = spec["versions"];
  auto open_api = [](const Value& v) -> const Value& { return v["schema"]["openAPIV3Schema"]; };
  for (std::size_t i = 0; i < versions.size(); ++i)
    if (!open_api(versions[i]).is_object())
      out.push_back(json::required(Path("spec.versions").index(i) / "schema.openAPIV3Schema"));
  bool preserve = spec["preserveUnknownFields"].as_bool();
  if (preserve && std::ranges::any_of(versions.items(),
                                      [&](const Value& v) { return has_default(open_api(v)); }))
    out.push_back(json::invalid("spec.preserveUnknownFields", true,
                                "must be false in order to use defaults in the schema"));

  SharedByVersions shared(versions);
  validate_versions(spec, shared, old, out);
  const Value& names = spec["names"];
  for (const char* key : {"plural", "singular", "kind", "listKind"})
    if (text(names, key).empty()) out.push_back(json::required(cat("spec.names.", key)));
  validate_definition_names(names, "spec.names", out);

  const Value& first = versions[0];
  if (shared.has("schema"))
    validate_schema(first, "spec.validation", std::ranges::any_of(versions.items(), has_status),
                    old, out);
  if (shared.has("subresources"))
    validate_subresources(first["subresources"], "spec.subresources", out);
  if (shared.has("additionalPrinterColumns"))
    validate_columns(first["additionalPrinterColumns"], "spec.additionalPrinterColumns", out);
  if (shared.has("selectableFields") && !first["selectableFields"].empty()) {
    if (shared.has("schema"))
      validate_selectable(first["selectableFields"], open_api(first), "spec.selectableFields", out);
    else
      out.push_back(json::invalid("spec.selectableFields", "",
                                  "may only be set when validations.schema is included"));
  }
  const Value& conversion = spec["conversion"];
  if (preserve && !conversion.is_null() && text(conversion, "strategy") != "None")
    out.push_back(json::invalid("spec.conversion.strategy", conversion["strategy"],
                                "must be None if spec.preserveUnknownFields is true"));
  if (!conversion.is_null()) validate_conversion(conversion, "spec.conversion", out);
}

}  // namespace cardea::catalog
