#include "catalog/openapi/permissions.h"

#include <algorithm>
#include <set>

#include "base/strings.h"
#include "schema/permissions/permissions.h"

namespace cardea::catalog::openapi {

using json::Value;
using schema::Permission;
using schema::PermissionTree;
using schema::Schema;

namespace {

constexpr std::string_view kObjectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

Value tags_of(const Permission& p) {
  Value out = Value::object({{"x-kubernetes-permission-verb", p.name}});
  std::string source;
  switch (p.source) {
    case Permission::Source::kNone:
      break;
    case Permission::Source::kMapKey:
      source = "mapKey";
      break;
    case Permission::Source::kSetValue:
      source = "setValue";
      break;
    case Permission::Source::kListKey:
      source = cat("listKey:", p.field);
      break;
    case Permission::Source::kValue:
      source = cat("value:", p.field);
      break;
    case Permission::Source::kSelf:
      source = "self";
      break;
  }
  if (p.ancestor_depth) source += cat("@", p.ancestor);
  if (!source.empty()) out.set("x-kubernetes-permission-parameter", source);
  if (p.treatment == Permission::Treatment::kSlashPrefix)
    out.set("x-kubernetes-permission-parameter-treatment", "slash-delimited-prefix");
  if (p.treatment == Permission::Treatment::kExpression)
    out.set("x-kubernetes-permission-parameter-cel", p.expression);
  return out;
}

Value entry_of(const PermissionTree::Listed& listed, Value fields) {
  Value entry = tags_of(*listed.permission);
  if (!listed.permission->map.empty()) entry.set("map", listed.permission->map);
  entry.set("fields", std::move(fields));
  return entry;
}

const Schema* each_of(const Schema& schema) {
  return schema.items ? schema.items : schema.additional;
}

}  // namespace

// Looks at every place where a type is used, and collects the permissions on its fields there.
class PublishedPermissions::Survey {
 public:
  using Node = PermissionTree::Node;
  struct Seen {
    std::set<std::string> field, each;  // printed tags; "" if the field has no permission
    Value tags, tags_of_each;
    std::string note;
  };

  void visit(const Schema& at, const Node* node) {
    if (!seen_.insert({&at, node}).second) return;
    for (const schema::Property& p : at.properties) {
      const Node* next = node ? node->field(p.name) : nullptr;
      note(at, p, next);
      const Schema* below = p.schema;
      // Types have names; lists and maps of types have none.
      while (below->type_name.empty() && each_of(*below)) {
        below = each_of(*below);
        next = next ? next->any : nullptr;
      }
      visit(*below, next);
    }
  }

  bool is_clear(std::string_view type, std::string_view field, bool each) const {
    auto at = uses_.find({std::string(type), std::string(field)});
    return at != uses_.end() && (each ? at->second.each : at->second.field).size() == 1;
  }

  const std::map<Key, Seen>& uses() const { return uses_; }

 private:
  void note(const Schema& at, const schema::Property& p, const Node* node) {
    const Permission* own = node ? node->permission : nullptr;
    const Permission* of_each = node && node->any ? node->any->permission : nullptr;
    if (at.type_name == kObjectMeta && !own) return;
    Seen& seen = uses_[{at.type_name, p.name}];
    seen.field.insert(own ? own->name : "");
    seen.each.insert(of_each ? of_each->name : "");
    if (own) seen.tags = tags_of(*own);
    if (of_each) seen.tags_of_each = tags_of(*of_each);
    if (const Permission* shown = own && !own->map.empty() ? own : of_each)
      seen.note = permission_note(*shown);
  }

  std::map<Key, Seen> uses_;
  std::set<std::pair<const Schema*, const Node*>> seen_;
};

PublishedPermissions::PublishedPermissions(const Catalog& catalog) {
  // If the feature is off the permissions have no effect, and the kind that belongs to the feature
  // is not served.
  if (!catalog.find("permissionconfig.k8s.io", "v1", "uncoveredpermissionsets")) return;
  are_shown_ = true;
  Survey survey;
  std::vector<const Resource*> written;
  for (const Group& group : catalog.groups())
    for (const Version& version : group.versions)
      for (const Resource* r : version.resources)
        if (!r->is_custom && !r->storage_prefix.empty()) written.push_back(r);
  for (const Resource* r : written) survey.visit(*r->schema, &r->permissions->root());
  const Schema* scale = catalog.kind_type("autoscaling", "v1", "Scale");
  auto of_scale = scale ? PermissionTree::of_builtin(*scale, "autoscaling", "Scale") : nullptr;
  if (scale) survey.visit(*scale, &of_scale->root());

  for (const auto& [key, seen] : survey.uses()) {
    FieldPermission shown;
    if (seen.field.size() == 1) shown.tags = seen.tags;
    if (seen.each.size() == 1) shown.tags_of_each = seen.tags_of_each;
    if (seen.field.size() == 1 && seen.each.size() == 1) shown.note = seen.note;
    if (!shown.tags.is_null() || !shown.tags_of_each.is_null())
      fields_.emplace(key, std::move(shown));
  }

  for (const Resource* r : written) {
    Value others = Value::array();
    for (const PermissionTree::Listed& listed : r->permissions->list()) {
      Value fields = Value::array();
      const bool is_mapped = !listed.permission->map.empty();
      for (const PermissionTree::Guarded& guarded : listed.fields) {
        const Schema* at = r->schema;
        const Schema* owner = nullptr;
        std::string_view last;
        bool each = false;
        for (std::string_view step : split(guarded.field, '.')) {
          each = step.ends_with("[*]");
          last = each ? step.substr(0, step.size() - 3) : step;
          owner = at;
          at = owner->property(last)->schema;
          if (each) at = each_of(*at);
        }
        const bool is_clear = survey.is_clear(owner->type_name, last, each);
        if (!is_clear || is_mapped) fields.push_back(guarded.field);
        if (!is_clear && is_mapped)
          notes_[r->schema->type_name] += cat(" ", guarded.field, ": ",
                                              permission_note(*listed.permission));
      }
      if (!fields.empty()) others.push_back(entry_of(listed, std::move(fields)));
    }
    if (!others.empty()) kinds_.emplace(r->schema->type_name, std::move(others));
  }
}

std::string permission_note(const Permission& p) {
  if (p.map.empty()) return "";
  return cat("The permission `", schema::verb_pattern(p), "` covers it (PermissionMap `", p.map,
             "`).");
}

Value untagged_permissions(const Resource& resource) {
  Value out = Value::array();
  for (const PermissionTree::Listed& listed : resource.permissions->list()) {
    Value fields = Value::array();
    for (const PermissionTree::Guarded& guarded : listed.fields) {
      const std::vector<std::string> steps = schema::field_steps(guarded.field);
      const Schema* at = resource.schema;
      for (const std::string& step : steps) {
        if (!at) break;
        const schema::Property* property = step == schema::kEach ? nullptr : at->property(step);
        at = step == schema::kEach ? each_of(*at) : property ? property->schema : nullptr;
      }
      if (steps[0] != "metadata" && at && !schema::permission_tag(at->source))
        fields.push_back(guarded.field);
    }
    if (!fields.empty()) out.push_back(entry_of(listed, std::move(fields)));
  }
  return out;
}

std::string PublishedPermissions::note_of_kind(std::string_view type) const {
  auto at = notes_.find(type);
  return at == notes_.end() ? "" : at->second;
}

const FieldPermission* PublishedPermissions::find(std::string_view type,
                                                  std::string_view field) const {
  auto at = fields_.find(Key{type, field});
  return at == fields_.end() ? nullptr : &at->second;
}

const Value& PublishedPermissions::of_kind(std::string_view type) const {
  static const Value kNothing;
  auto at = kinds_.find(type);
  return at == kinds_.end() ? kNothing : at->second;
}

}  // namespace cardea::catalog::openapi
