#include "engine/documents.h"

#include <algorithm>
#include <tuple>

#include "authz/namespace_policy/documents.h"
#include "base/strings.h"
#include "catalog/definition.h"
#include "catalog/kinds/strategies.h"
#include "catalog/validate.h"
#include "json/yaml.h"
#include "schema/wire/decode.h"

namespace cardea::engine {

using json::Value;
namespace documents = authz::namespace_policy;

namespace {

struct Kind {
  std::string_view group, name;
  Document::Sort sort;
  bool namespaced;
  const catalog::Strategy& (*strategy)();  // null: it has its own form
};

constexpr std::string_view kRbac = "rbac.authorization.k8s.io";
constexpr Kind kKinds[] = {
    {kRbac, "Role", Document::Sort::kRole, true, catalog::role_strategy},
    {kRbac, "ClusterRole", Document::Sort::kRole, false, catalog::cluster_role_strategy},
    {kRbac, "RoleBinding", Document::Sort::kBinding, true, catalog::role_binding_strategy},
    {kRbac, "ClusterRoleBinding", Document::Sort::kBinding, false,
     catalog::cluster_role_binding_strategy},
    {authz::access::kGroup, "ClusterAccessPolicy", Document::Sort::kAccessPolicy, false,
     catalog::cluster_access_policy_strategy},
    {authz::access::kGroup, "AccessPolicy", Document::Sort::kAccessPolicy, true,
     catalog::access_policy_strategy},
    {documents::kGroup, "Policy", Document::Sort::kPolicy, true, nullptr},
    {documents::kGroup, "PolicyBinding", Document::Sort::kPolicyBinding, true, nullptr},
    {"permissionconfig.k8s.io", "UncoveredPermissionSet", Document::Sort::kUncovered, false,
     catalog::uncovered_permission_set_strategy},
    {authz::access::kGroup, "PermissionMap", Document::Sort::kPermissionMap, false,
     catalog::permission_map_strategy},
    {"apiextensions.k8s.io", "CustomResourceDefinition", Document::Sort::kDefinition, false,
     catalog::definition_strategy},
};

const catalog::Strategy* strategy_of(std::string_view group, std::string_view kind) {
  for (const Kind& k : kKinds)
    if (k.group == group && k.name == kind && k.strategy) return &k.strategy();
  // Of the rules of nodes, the one that field permissions look at.
  static const catalog::Strategy kNode{.brings_status = true};
  return group.empty() && kind == "Node" ? &kNode : nullptr;
}

struct Type {
  std::string_view group, version, kind;
};

Type type_of(const Value& object) {
  std::string_view text = object["apiVersion"].as_string();
  auto slash = text.find('/');
  std::string_view kind = object["kind"].as_string();
  if (slash == text.npos) return {"", text, kind};
  return {text.substr(0, slash), text.substr(slash + 1), kind};
}

// For errors: `Role "a/b"`.
std::string shown(const Document& d) {
  std::string_view kind = d.object["kind"].as_string();
  return cat(kind, " ",
             quoted(d.namespace_name.empty() ? d.name : cat(d.namespace_name, "/", d.name)));
}

Error refused(const Document& d, std::string_view why) {
  return bad_request(cat(shown(d), ": ", why));
}

Result<void> check_errors(const Document& d, const json::FieldErrors& errors) {
  if (errors.empty()) return {};
  std::vector<std::string> texts;
  for (const json::FieldError& e : errors) texts.push_back(e.message());
  return fail(refused(d, join(texts, ", ")));
}

// Every document except the first begins with a line of three dashes.
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> out;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    bool is_mark = line.starts_with("---") &&
                   (line.size() == 3 || line[3] == ' ' || line[3] == '\t' || line[3] == '\r');
    if (is_mark && at > begin) {
      out.push_back(text.substr(begin, at - begin));
      begin = at;
    }
    at = end + 1;
  }
  out.push_back(text.substr(std::min(begin, text.size())));
  return out;
}

// Nothing but comments and marks.
bool is_blank(std::string_view part) {
  for (std::string_view line : split(part, '\n')) {
    line = trim(line);
    if (!line.empty() && !line.starts_with('#') && line != "---") return false;
  }
  return true;
}

Result<Value> stored_form(const Document& d, const Kind& kind) {
  const Type type = type_of(d.object);
  const catalog::Resource* r = known_resources()->find_kind(type.group, type.version, type.kind);
  if (!r)
    return fail(refused(d, cat("there is no version ", quoted(type.version), " of this kind")));
  auto decoded = schema::decode(*r->schema, {.value = d.object}, "");
  if (!decoded) return fail(refused(d, decoded.error().message));
  if (!decoded->strict.empty()) return fail(refused(d, schema::strict_error(decoded->strict)));
  const catalog::Strategy& strategy = kind.strategy();
  catalog::StrategyContext context{.group = r->group,
                                   .version = r->version,
                                   .resource = r->name,
                                   .namespace_name = d.namespace_name};
  Value object = std::move(decoded->value);
  if (strategy.defaults) strategy.defaults(object, context);
  if (strategy.prepare_for_create) strategy.prepare_for_create(object, context);
  object = schema::normalize(*r->schema, object);
  auto valid = check_errors(d,
                            catalog::validate_create(strategy, object, kind.namespaced, context));
  if (!valid) return fail(valid.error());
  return object;
}

Result<Value> policy_form(const Document& d, std::string_view master) {
  const documents::Place place{d.namespace_name, master};
  json::FieldErrors errors;
  Value out;
  auto add = [&errors](json::FieldErrors more) {
    errors.insert(errors.end(), more.begin(), more.end());
  };
  if (d.sort == Document::Sort::kPolicy) {
    auto policy = documents::read_policy(d.object, place, errors);
    if (errors.empty())
      add(documents::validate(policy, place, documents::ResourceGroups::built_in()));
    out = documents::as_json(policy);
  } else {
    auto binding = documents::read_policy_binding(d.object, place, errors);
    if (errors.empty()) add(documents::validate(binding, place));
    out = documents::as_json(binding);
  }
  auto valid = check_errors(d, errors);
  if (!valid) return fail(valid.error());
  return out;
}

// Namespace and name of a document of namespace policy, which may stand in several places.
std::pair<std::string, std::string> place_of(const Value& object, Document::Sort sort,
                                             std::string_view master) {
  const documents::Place place{"", master};
  json::FieldErrors ignored;
  if (sort == Document::Sort::kPolicy) {
    auto policy = documents::read_policy(object, place, ignored);
    return {policy.namespace_name, policy.name};
  }
  auto binding = documents::read_policy_binding(object, place, ignored);
  return {binding.namespace_name, binding.name};
}

const Kind* kind_of(const Type& type) {
  auto at = std::ranges::find_if(
      kKinds, [&](const Kind& k) { return k.group == type.group && k.name == type.kind; });
  return at == std::end(kKinds) ? nullptr : at;
}

}  // namespace

const std::shared_ptr<const catalog::Catalog>& known_resources() {
  static const std::shared_ptr<const catalog::Catalog> kBuiltin = catalog::Catalog::builtin(
      {"ConditionalAuthorization", "FineGrainedAuthorization"}, strategy_of);
  return kBuiltin;
}

Result<Value> read_object(std::string_view text) {
  auto value = json::parse_strict_configuration(text, kLargestText);
  if (!value) return value;
  if (!value->is_object()) return fail(bad_request("the text must be an object"));
  return value;
}

Result<std::vector<Value>> read_objects(std::string_view text) {
  std::vector<Value> out;
  const bool is_json = json::is_json_configuration(text);
  for (std::string_view part : is_json ? std::vector<std::string_view>{text} : parts_of(text)) {
    if (is_blank(part)) continue;
    auto object = read_object(part);
    if (!object) return fail(object.error());
    if ((*object)["kind"].as_string() != "List") {
      out.push_back(std::move(*object));
      continue;
    }
    for (const Value& item : (*object)["items"].items()) {
      if (!item.is_object()) return fail(bad_request("an item of the List must be an object"));
      out.push_back(item);
    }
  }
  return out;
}

Result<Document> identified(Value object, std::string_view master) {
  const Type type = type_of(object);
  const Kind* kind = kind_of(type);
  if (!kind)
    return fail(bad_request(cat("an engine takes no documents of kind ", quoted(type.kind),
                                " and apiVersion ", quoted(object["apiVersion"].as_string()))));
  Document out{.sort = kind->sort};
  if (kind->strategy) {
    out.name = object["metadata"]["name"].as_string();
    out.namespace_name = object["metadata"]["namespace"].as_string();
  } else {
    std::tie(out.namespace_name, out.name) = place_of(object, out.sort, master);
  }
  out.object = std::move(object);
  if (out.name.empty()) return fail(refused(out, "metadata.name: Required value"));
  if (kind->namespaced && out.namespace_name.empty())
    return fail(refused(out, "metadata.namespace: Required value"));
  if (!kind->namespaced && !out.namespace_name.empty())
    return fail(refused(out, "metadata.namespace: Forbidden: not allowed on this type"));
  out.key = cat(kind->group, "/", kind->name, "/", out.namespace_name, "/", out.name);
  return out;
}

Result<Document> checked(Value object, std::string_view master) {
  auto out = identified(std::move(object), master);
  if (!out) return out;
  const Kind& kind = *kind_of(type_of(out->object));
  auto form = kind.strategy ? stored_form(*out, kind) : policy_form(*out, master);
  if (!form) return fail(form.error());
  if (out->sort == Document::Sort::kAccessPolicy) {
    out->access_policy = std::make_shared<const authz::access::Policy>(out->namespace_name,
                                                                       out->name, *form);
    if (!out->access_policy->problem().empty())
      return fail(refused(*out, out->access_policy->problem()));
  }
  if (out->sort == Document::Sort::kDefinition)
    // Its names are accepted, because there are no other definitions.
    form->member("status").set(
        "conditions", Value::array({Value::object({{"type", "Established"}, {"status", "True"}})}));
  out->object = std::move(*form);
  return out;
}

}  // namespace cardea::engine
