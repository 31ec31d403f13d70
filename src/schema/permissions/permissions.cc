#include "schema/permissions/permissions.h"

#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "cel/environments.h"
#include "cel/eval/evaluate.h"
#include "json/print.h"
#include "schema/ownership/shape.h"
#include "schema/permissions/added_permissions.h"

namespace cardea::schema {

using json::Member;
using json::Value;

namespace {

constexpr std::uint64_t kExpressionCost = 10'000;
constexpr std::size_t kLongestSelf = 4096;

bool is_plain(char c) {
  constexpr std::string_view kReserved = "()%:,\"\\";
  return c >= '!' && c <= '~' && kReserved.find(c) == kReserved.npos;
}

// Nothing when the expression errs or costs too much.
std::optional<std::string> evaluated(const cel::Program& program, const cel::Value& self) {
  cel::Evaluation evaluation({.cost = kExpressionCost});
  const cel::Value result = evaluation.run(program, {&self, 1});
  if (result.kind != cel::Kind::kString || evaluation.limit_exceeded()) return std::nullopt;
  return std::string(result.string());
}

std::shared_ptr<const cel::Environment> environment_of_self(std::string_view type) {
  cel::Environment env = cel::kubernetes_environment();
  env.variable("self", type);
  return std::move(env).share();
}

const std::shared_ptr<const cel::Environment>& parameter_environment(Permission::Source source) {
  static const auto of_text = environment_of_self("string"), of_value = environment_of_self("dyn");
  return source == Permission::Source::kSelf ? of_value : of_text;
}

std::optional<std::string> verb_with(const Permission& p, std::string_view raw) {
  if (raw.size() > kLongestParameter) return std::nullopt;
  std::string parameter = encoded_parameter(raw);
  if (parameter.size() > kLongestParameter) return std::nullopt;
  return cat(kGranularPrefix, p.name, "(", parameter, ")");
}

// Whether changes are seen as deep as the path goes: below an atomic list or map there is one field
// only.
bool is_reachable(const Schema& root, const std::vector<std::string>& steps) {
  const Schema* at = &root;
  for (const std::string& step : steps) {
    if (step == kEach) {
      if (at->type == Schema::Type::kArray ? is_atomic_list(*at) || !at->items
                                           : is_atomic_map(*at) || !at->additional)
        return false;
      at = at->type == Schema::Type::kArray ? at->items : at->additional;
    } else {
      if (is_atomic_map(*at)) return false;
      const Property* property = at->property(step);
      if (!property) return false;
      at = property->schema;
    }
  }
  return true;
}

Permission permission_of(const BuiltinPermission& row) {
  return {.name = std::string(row.name),
          .source = row.source,
          .field = std::string(row.field),
          .treatment = row.treatment,
          .expression = {},
          .program = {}};
}

// What custom resources without tags have as well.
bool is_general(const BuiltinPermission& row) {
  return row.kind == "*" &&
         (row.path == "spec" || row.path == "status" || row.path.starts_with("status."));
}

void add_tags(PermissionTree& tree, const Schema& at, std::vector<std::string>& path, bool root) {
  if (!path.empty())
    if (auto tag = permission_tag(at.source)) tree.add(path, std::move(*tag));
  auto below = [&](std::string step, const Schema& next) {
    path.push_back(std::move(step));
    add_tags(tree, next, path, false);
    path.pop_back();
  };
  bool is_list = at.type == Schema::Type::kArray;
  if (is_list ? is_atomic_list(at) : is_atomic_map(at)) return;
  if (is_list && at.items) return below(std::string(kEach), *at.items);
  for (const Property& p : at.properties)
    // The metadata of an object is not for its definition to tag.
    if (!root || (p.name != "metadata" && p.name != "apiVersion" && p.name != "kind"))
      below(p.name, *p.schema);
  if (at.additional) below(std::string(kEach), *at.additional);
}

// The schema with every atomic list that permissions have a key for as a list of type map; itself
// when it has none.
const Schema* keyed(const Schema& s, SchemaSet& set) {
  Schema* copy = nullptr;
  auto own = [&]() -> Schema& {
    if (!copy) *(copy = set.make()) = s;
    return *copy;
  };
  for (std::size_t i = 0; i < s.properties.size(); ++i)
    if (const Schema* next = keyed(*s.properties[i].schema, set); next != s.properties[i].schema)
      own().properties[i].schema = next;
  if (s.additional)
    if (const Schema* next = keyed(*s.additional, set); next != s.additional)
      own().additional = next;
  if (!s.items) return copy ? copy : &s;
  if (const Schema* next = keyed(*s.items, set); next != s.items) own().items = next;
  auto tag = s.type == Schema::Type::kArray && is_atomic_list(s) ? permission_tag(s.items->source)
                                                                 : std::nullopt;
  if (tag && tag->source == Permission::Source::kListKey && !tag->ancestor_depth) {
    own().list_type = Schema::ListType::kMap;
    own().map_keys = {tag->field};
  }
  return copy ? copy : &s;
}

bool same_permission(const Permission& a, const Permission& b) {
  return a.name == b.name && a.source == b.source && a.field == b.field &&
         a.ancestor == b.ancestor && a.treatment == b.treatment && a.expression == b.expression &&
         a.excluded == b.excluded && a.map == b.map;
}

void list_below(const PermissionTree::Node& node, const std::string& path,
                std::vector<const Permission*>& enclosing,
                std::vector<PermissionTree::Listed>& out) {
  if (node.permission) {
    auto at = std::ranges::find_if(out, [&](const auto& listed) {
      return same_permission(*listed.permission, *node.permission);
    });
    if (at == out.end()) at = out.insert(at, {node.permission, {}});
    at->fields.push_back({path, enclosing});
    enclosing.push_back(node.permission);
  }
  for (const auto& [name, next] : node.fields)
    list_below(*next, path.empty() ? name : cat(path, ".", name), enclosing, out);
  if (node.any) list_below(*node.any, path + "[*]", enclosing, out);
  if (node.permission) enclosing.pop_back();
}

}  // namespace

std::vector<std::string> field_steps(std::string_view path) {
  std::vector<std::string> out;
  for (std::string_view part : split(path, '.')) {
    std::size_t depth = 0;
    for (; part.ends_with("[*]"); ++depth) part.remove_suffix(3);
    out.emplace_back(part);
    out.insert(out.end(), depth, std::string(kEach));
  }
  return out;
}

std::string encoded_parameter(std::string_view text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    if (is_plain(c)) {
      out += c;
      continue;
    }
    auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  return out;
}

std::optional<std::string> permission_verb(const Permission& permission, std::string_view raw) {
  if (!permission.has_parameter()) return cat(kGranularPrefix, permission.name);
  switch (permission.treatment) {
    case Permission::Treatment::kNone:
      break;
    case Permission::Treatment::kSlashPrefix:
      raw = raw.substr(0, raw.find('/'));
      break;
    case Permission::Treatment::kExpression: {
      if (!permission.program || raw.size() > kLongestSelf) return std::nullopt;
      auto made = evaluated(*permission.program, cel::Value::of_text(raw));
      return made ? verb_with(permission, *made) : std::nullopt;
    }
  }
  return verb_with(permission, raw);
}

std::optional<std::string> permission_verb_of_value(const Permission& permission,
                                                    const Value* self) {
  const bool is_removed = !self || self->is_null();
  if (permission.treatment == Permission::Treatment::kExpression) {
    if (!permission.program) return std::nullopt;
    auto made = evaluated(*permission.program,
                          is_removed ? cel::Value::null() : cel::Value::of_json(*self));
    return made ? verb_with(permission, *made) : std::nullopt;
  }
  if (is_removed) return permission_verb(permission, "");
  if (self->is_array() || self->is_object()) return std::nullopt;
  return permission_verb(permission, scalar_text(*self));
}

std::string scalar_text(const Value& value) {
  // 10, 10.0 and 1e1 are one number, and must not have different verbs.
  constexpr double kLargestExact = 9007199254740992;  // 2^53
  if (value.is_double() && std::trunc(value.as_double()) == value.as_double() &&
      std::abs(value.as_double()) <= kLargestExact)
    return std::to_string(static_cast<std::int64_t>(value.as_double()));
  return value.is_string() ? std::string(value.as_string()) : json::print(value);
}

std::string verb_pattern(const Permission& p) {
  std::string verb = cat(kGranularPrefix, p.name);
  std::string what;
  switch (p.source) {
    case Permission::Source::kNone:
      return verb;
    case Permission::Source::kMapKey:
      what = "key";
      break;
    case Permission::Source::kSetValue:
      what = "value";
      break;
    case Permission::Source::kListKey:
    case Permission::Source::kValue:
      what = p.field;
      break;
    case Permission::Source::kSelf:
      what = "new value";
      break;
  }
  if (p.ancestor_depth) what = cat(what, " of ", p.ancestor);
  if (p.treatment == Permission::Treatment::kSlashPrefix) what = cat("prefix of ", what);
  if (p.treatment == Permission::Treatment::kExpression) what = cat(p.expression, " of ", what);
  return cat(verb, "(<", what, ">)");
}

const PermissionTree::Node* PermissionTree::Node::field(std::string_view name) const {
  auto at = std::ranges::lower_bound(fields, name, {},
                                     [](const auto& f) { return std::string_view(f.first); });
  return at != fields.end() && at->first == name ? at->second : nullptr;
}

const PermissionTree::Node* PermissionTree::Node::child(std::string_view element) const {
  if (element.starts_with("f:"))
    if (const Node* named = field(element.substr(2))) return named;
  return any;
}

PermissionTree::Node* PermissionTree::node_at(const std::vector<std::string>& path) {
  Node* at = root_;
  for (const std::string& step : path) {
    if (step == kEach) {
      if (!at->any) at->any = &nodes_.emplace_back();
      at = const_cast<Node*>(at->any);
      continue;
    }
    auto place = std::ranges::lower_bound(at->fields, step, {},
                                          &std::pair<std::string, const Node*>::first);
    if (place == at->fields.end() || place->first != step)
      place = at->fields.insert(place, {step, &nodes_.emplace_back()});
    at = const_cast<Node*>(place->second);
  }
  return at;
}

void PermissionTree::add(const std::vector<std::string>& path, Permission permission) {
  node_at(path)->permission = &permissions_.emplace_back(std::move(permission));
}

const Permission* PermissionTree::at(const std::vector<std::string>& steps) const {
  const Node* node = root_;
  for (const std::string& step : steps)
    if (node = step == kEach ? node->any : node->field(step); !node) return nullptr;
  return node->permission;
}

void PermissionTree::add_fitting(const Schema& root, Added added) {
  for (const AddedPermission& one : added)
    if (!misfit(one, root, *this)) add(field_steps(one.field), one.permission);
}

void PermissionTree::finish() {
  // Children were made after their parents.
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
    if (const Permission* p = node->permission) {
      names_.insert(p->name);
      takes_values_ |= p->source == Permission::Source::kValue ||
                       p->source == Permission::Source::kSelf;
      node->has_excluded |= p->excluded;
    }
    for (const auto& [name, next] : node->fields) node->has_excluded |= next->has_excluded;
    if (node->any) node->has_excluded |= node->any->has_excluded;
  }
}

std::vector<PermissionTree::Listed> PermissionTree::list() const {
  std::vector<Listed> out;
  std::vector<const Permission*> enclosing;
  list_below(*root_, "", enclosing, out);
  return out;
}

std::shared_ptr<const PermissionTree> PermissionTree::of_builtin(const Schema& root,
                                                                 std::string_view group,
                                                                 std::string_view kind,
                                                                 Added added) {
  auto tree = std::make_shared<PermissionTree>();
  for (const BuiltinPermission& row : builtin_permissions()) {
    if (row.kind != "*" && (row.kind != kind || row.group != group)) continue;
    auto steps = field_steps(row.path);
    if (is_reachable(root, steps)) tree->add(steps, permission_of(row));
  }
  tree->add_fitting(root, added);
  tree->finish();
  return tree;
}

std::shared_ptr<const PermissionTree> PermissionTree::of_custom(const Schema& root, Added added) {
  auto tree = std::make_shared<PermissionTree>();
  std::vector<std::string> path;
  const Schema* shape = keyed(root, tree->keyed_);
  if (shape != &root) tree->compared_ = shape;
  add_tags(*tree, *shape, path, true);
  // An author who tags some fields has decided about the others too.
  const bool is_tagged = !tree->permissions_.empty();
  for (const BuiltinPermission& row : builtin_permissions())
    if (row.group == "*" || (!is_tagged && is_general(row)))
      if (auto steps = field_steps(row.path); is_reachable(root, steps))
        tree->add(steps, permission_of(row));
  tree->add_fitting(*shape, added);
  tree->finish();
  return tree;
}

Result<std::shared_ptr<const cel::Program>> compile_parameter(std::string_view text,
                                                              Permission::Source source) {
  auto program = cel::compile(text, parameter_environment(source));
  if (!program) return fail(bad_request(cat("compilation failed: ", program.error().text)));
  if ((*program)->type()->kind != cel::Type::kString || (*program)->type()->nullable)
    return fail(bad_request("must evaluate to a string"));
  return std::move(*program);
}

bool is_above(const std::vector<std::string>& steps, const std::vector<std::string>& longer) {
  return steps.size() < longer.size() && std::equal(steps.begin(), steps.end(), longer.begin());
}

Permission::Source source_of(const Value& tags) {
  std::string_view source = tags["x-kubernetes-permission-parameter"].as_string();
  source = source.substr(0, source.find('@'));
  if (source == "mapKey") return Permission::Source::kMapKey;
  if (source == "setValue") return Permission::Source::kSetValue;
  if (source.starts_with("listKey:")) return Permission::Source::kListKey;
  if (source.starts_with("value:")) return Permission::Source::kValue;
  return source == "self" ? Permission::Source::kSelf : Permission::Source::kNone;
}

const std::vector<std::string>& permission_sources() {
  static const std::vector<std::string> known{
      "mapKey", "setValue",      "listKey:<field>",       "value:<path>",
      "self",   "mapKey@<path>", "listKey:<field>@<path>"};
  return known;
}

bool has_known_source(const Value& tags) {
  std::string_view source = tags["x-kubernetes-permission-parameter"].as_string();
  const Permission::Source known = source_of(tags);
  if (!source.contains('@')) return known != Permission::Source::kNone;
  return !source.ends_with('@') &&
         (known == Permission::Source::kMapKey || known == Permission::Source::kListKey);
}

std::optional<Permission> permission_tag(const Value& open_api) {
  std::string_view name = open_api["x-kubernetes-permission-verb"].as_string();
  if (name.empty()) return std::nullopt;
  Permission p{.name = std::string(name),
               .field = {},
               .expression = {},
               .program = {},
               .excluded = open_api["x-kubernetes-permission-excluded"].as_bool()};
  std::string_view source = open_api["x-kubernetes-permission-parameter"].as_string();
  if (auto at = source.find('@'); at != source.npos && has_known_source(open_api)) {
    p.ancestor = source.substr(at + 1);
    p.ancestor_depth = field_steps(p.ancestor).size();
    source = source.substr(0, at);
  }
  p.source = source_of(open_api);
  if (p.source == Permission::Source::kListKey || p.source == Permission::Source::kValue)
    p.field = source.substr(source.find(':') + 1);
  if (open_api["x-kubernetes-permission-parameter-treatment"].as_string() ==
      "slash-delimited-prefix")
    p.treatment = Permission::Treatment::kSlashPrefix;
  if (std::string_view text = open_api["x-kubernetes-permission-parameter-cel"].as_string();
      !text.empty()) {
    p.treatment = Permission::Treatment::kExpression;
    p.expression = text;
    if (auto program = compile_parameter(text, p.source)) p.program = std::move(*program);
  }
  return p;
}

}  // namespace cardea::schema
