#include "schema/permissions/added_permissions.h"

#include <algorithm>

#include "base/strings.h"
#include "schema/ownership/shape.h"
#include "schema/permissions/check_permissions.h"

namespace cardea::schema {

using json::FieldErrors;
using json::Value;

namespace {

constexpr std::size_t kLongestField = 512, kLongestExpressionText = 512;

bool is_field_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '$';
  });
}

// Names joined by dots; `[*]` after a name means each value of the map, each item of the list.
bool is_field_path(std::string_view text) {
  return std::ranges::all_of(split(text, '.'), [](std::string_view part) {
    while (part.ends_with("[*]")) part.remove_suffix(3);
    return is_field_name(part);
  });
}

// The same tags that a definition would have on the field.
Value as_tags(const Value& entry) {
  Value tags = Value::object();
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"verb", "x-kubernetes-permission-verb"},
      {"parameter", "x-kubernetes-permission-parameter"},
      {"parameterTreatment", "x-kubernetes-permission-parameter-treatment"},
      {"parameterExpression", "x-kubernetes-permission-parameter-cel"}};
  for (const auto& [ours, tag] : kNames)
    if (const Value* given = entry.find(ours)) tags.set(tag, *given);
  return tags;
}

bool is_scalar(const Schema& schema) {
  return schema.type != Schema::Type::kObject && schema.type != Schema::Type::kArray &&
         schema.type != Schema::Type::kAny;
}

// What a path leads to.
struct Found {
  const Schema* holder = nullptr;  // the map or list that the last step, `*`, goes into
  const Schema* schema = nullptr;
};

class Search {
 public:
  explicit Search(const Schema& root) : found_{.schema = &root} {}

  // Why it cannot go there; empty when it could.
  std::string go(const std::string& step) {
    const Schema& at = *found_.schema;
    return step == kEach ? into(at) : to_field(at, step);
  }
  const Found& found() const { return found_; }
  bool is_absent() const { return is_absent_; }

 private:
  std::string into(const Schema& at) {
    const bool is_list = at.type == Schema::Type::kArray;
    const Schema* each = is_list ? at.items : at.additional;
    if (!each) return absent(cat("`", so_far_, "` is neither a list nor a map"));
    if (is_list ? is_atomic_list(at) : is_atomic_map(at))
      return cat("`", so_far_, "` changes as one: its items cannot have permissions of their own");
    found_ = {&at, each};
    so_far_ += "[*]";
    return "";
  }

  std::string to_field(const Schema& at, const std::string& name) {
    const Property* property = at.property(name);
    if (!property && at.preserve_unknown_fields) {
      found_ = {nullptr, &opaque_schema()};
      so_far_ += cat(so_far_.empty() ? "" : ".", name);
      return "";
    }
    if (!property)
      return absent(so_far_.empty() ? cat("objects have no field `", name, "`")
                                    : cat("`", so_far_, "` has no field `", name, "`"));
    if (is_atomic_map(at))
      return cat("`", so_far_, "` changes as one: its fields cannot have permissions of their own");
    found_ = {nullptr, property->held == Held::kRaw ? &opaque_schema() : property->schema};
    so_far_ += cat(so_far_.empty() ? "" : ".", name);
    return "";
  }

  std::string absent(std::string why) {
    is_absent_ = true;
    return why;
  }

  Found found_;
  std::string so_far_;
  bool is_absent_ = false;
};

std::string parameter_misfit(const Permission& p, const Found& found) {
  if (p.source == Permission::Source::kSelf)
    return is_scalar(*found.schema) || p.treatment == Permission::Treatment::kExpression
               ? ""
               : "self must be a string, number or boolean, or have an expression";
  const Schema* holder = found.holder;
  const bool in_list = holder && holder->type == Schema::Type::kArray;
  switch (p.source) {
    case Permission::Source::kNone:
      return "";
    case Permission::Source::kMapKey:
      return holder && !in_list ? "" : "mapKey must be used for the values of a map";
    case Permission::Source::kSetValue:
      return in_list && holder->list_type == Schema::ListType::kSet
                 ? ""
                 : "setValue must be used for the items of a list of type set";
    case Permission::Source::kListKey:
      if (!in_list || holder->list_type != Schema::ListType::kMap)
        return "listKey must be used for the items of a list of type map";
      return std::ranges::find(holder->map_keys, p.field) != holder->map_keys.end()
                 ? ""
                 : cat("must name a key of the list: ", join(holder->map_keys, ", "));
    case Permission::Source::kValue:
    case Permission::Source::kSelf:
      break;
  }
  if (!holder || (in_list && holder->list_type != Schema::ListType::kMap))
    return "value must be used for the values of a map or the items of a list of type map";
  const Schema* at = found.schema;
  for (std::string_view name : split(p.field, '.')) {
    const Property* property = at->property(name);
    if (!property) return "must lead to a string, number or boolean of the item";
    at = property->schema;
  }
  return is_scalar(*at) ? "" : "must lead to a string, number or boolean of the item";
}

}  // namespace

FieldErrors check_added(const Value& entry, const std::string& path) {
  FieldErrors out;
  const std::string at = path + ".field";
  std::string_view field = entry["field"].as_string();
  if (field.empty())
    out.push_back(json::required(at));
  else if (field.size() > kLongestField)
    out.push_back(json::too_long(at, static_cast<int>(kLongestField)));
  else if (!is_field_path(field))
    out.push_back(json::invalid(
        at, field, "must be a path of names: spec.unschedulable, spec.containers[*].image"));
  else if (std::string_view first = field.substr(0, field.find_first_of(".["));
           first == "metadata" || first == "apiVersion" || first == "kind")
    out.push_back(json::invalid(
        at, field,
        cat("must not be in the ", first, " of an object, which has its own permissions")));

  std::string_view verb = entry["verb"].as_string();
  if (verb.empty())
    out.push_back(json::required(path + ".verb"));
  else if (verb.starts_with(kGranularPrefix))
    out.push_back(json::invalid(path + ".verb", verb.substr(0, kLongestField),
                                "must be written without `granular:`"));
  else if (std::string problem = permission_name_problem(verb); !problem.empty())
    out.push_back(json::invalid(path + ".verb", verb.substr(0, kLongestField), std::move(problem)));

  const Value tags = as_tags(entry);
  const bool has_parameter = entry.has("parameter");
  if (has_parameter && !has_known_source(tags))
    out.push_back(
        json::not_supported(path + ".parameter", entry["parameter"], permission_sources()));
  for (std::string_view needs : {"parameterTreatment", "parameterExpression"})
    if (entry.has(needs) && !has_parameter)
      out.push_back(
          json::required(path + ".parameter",
                         cat("must say where the parameter comes from if ", needs, " is given")));
  if (const Value* treatment = entry.find("parameterTreatment");
      treatment && treatment->as_string() != "slash-delimited-prefix")
    out.push_back(
        json::not_supported(path + ".parameterTreatment", *treatment, {"slash-delimited-prefix"}));
  if (!entry.has("parameterExpression")) return out;
  const std::string expression_at = path + ".parameterExpression";
  if (entry.has("parameterTreatment"))
    out.push_back(
        json::forbidden(expression_at, "must not be given together with parameterTreatment"));
  std::string_view text = entry["parameterExpression"].as_string();
  if (text.size() > kLongestExpressionText)
    out.push_back(json::too_long(expression_at, static_cast<int>(kLongestExpressionText)));
  else if (auto program = compile_parameter(text, source_of(tags)); !program)
    out.push_back(json::invalid(expression_at, text, program.error().message));
  return out;
}

std::optional<AddedPermission> added_permission(const Value& entry, std::string_view map) {
  if (!check_added(entry, "").empty()) return std::nullopt;
  std::optional<Permission> permission = permission_tag(as_tags(entry));
  if (!permission) return std::nullopt;
  permission->map = map;
  return AddedPermission{std::string(entry["field"].as_string()), std::move(*permission)};
}

std::optional<Misfit> misfit(const AddedPermission& added, const Schema& root,
                             const PermissionTree& tree) {
  const std::vector<std::string> steps = field_steps(added.field);
  Search search(root);
  std::vector<Found> passed;
  for (const std::string& step : steps) {
    if (std::string why = search.go(step); !why.empty())
      return Misfit{Misfit::Of::kField, std::move(why), search.is_absent()};
    passed.push_back(search.found());
  }
  if (const Permission* own = tree.at(steps))
    return Misfit{Misfit::Of::kField,
                  cat(verb_pattern(*own), " guards it already",
                      own->map.empty() ? "" : cat(", by the PermissionMap `", own->map, "`"))};
  const std::size_t depth = added.permission.ancestor_depth;
  if (depth && !is_above(field_steps(added.permission.ancestor), steps))
    return Misfit{Misfit::Of::kParameter,
                  "the path after `@` must lead to something above the field"};
  if (std::string why = parameter_misfit(added.permission,
                                         passed[(depth ? depth : passed.size()) - 1]);
      !why.empty())
    return Misfit{Misfit::Of::kParameter, std::move(why)};
  return std::nullopt;
}

}  // namespace cardea::schema
