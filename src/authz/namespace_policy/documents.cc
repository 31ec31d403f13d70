#include "authz/namespace_policy/documents.h"

#include <algorithm>

#include "authz/namespace_policy/words.h"
#include "base/strings.h"

namespace cardea::authz::namespace_policy {
namespace {

using json::FieldErrors;
using json::Value;

std::string under(const std::string& at, std::string_view field) {
  return at.empty() ? std::string(field) : cat(at, ".", field);
}
std::string item_of(const std::string& at, std::size_t i) {
  return cat(at, "[", i, "]");
}

// An object whose keys are read in any case, each by one of its names. Reports keys that were
// not read.
class Fields {
 public:
  Fields(const Value& object, std::string at, FieldErrors& errors)
      : object_(object), at_(std::move(at)), errors_(errors) {
    if (!object.is_object()) errors.push_back(json::type_invalid(at_, object, "must be an object"));
    asked_.resize(object.members().size());
  }

  // The first name is the canonical one. Null when absent.
  const Value& get(std::initializer_list<std::string_view> names) {
    static const Value kAbsent;
    const Value* found = nullptr;
    std::span<const json::Member> members = object_.members();
    for (std::size_t i = 0; i < members.size(); ++i) {
      bool is_it = std::ranges::any_of(
          names, [&](std::string_view n) { return equals_ignoring_case(n, members[i].key()); });
      if (!is_it) continue;
      asked_[i] = true;
      if (found)
        errors_.push_back(json::duplicate(under(at_, *names.begin()), members[i].key()));
      else
        found = &members[i].value;
    }
    return found ? *found : kAbsent;
  }

  std::string text(std::initializer_list<std::string_view> names) {
    const Value& v = get(names);
    if (!v.is_null() && !v.is_string())
      errors_.push_back(json::type_invalid(under(at_, *names.begin()), v, "must be a string"));
    return std::string(v.as_string());
  }

  bool flag(std::initializer_list<std::string_view> names) {
    const Value& v = get(names);
    if (v.is_null() || v.is_bool()) return v.as_bool();
    bool is_yes = equals_ignoring_case(v.as_string(), "true");
    if (!is_yes && !equals_ignoring_case(v.as_string(), "false"))
      errors_.push_back(json::type_invalid(under(at_, *names.begin()), v, "must be true or false"));
    return is_yes;
  }

  std::vector<std::string> texts(std::initializer_list<std::string_view> names,
                                 bool in_lower_case = false) {
    const Value& v = get(names);
    std::string at = under(at_, *names.begin());
    std::vector<std::string> out;
    if (!v.is_null() && !v.is_array())
      errors_.push_back(json::type_invalid(at, v, "must be a list of strings"));
    for (std::size_t i = 0; i < v.items().size(); ++i) {
      const Value& item = v[i];
      if (!item.is_string())
        errors_.push_back(json::type_invalid(item_of(at, i), item, "must be a string"));
      else
        out.push_back(in_lower_case ? lower(item.as_string()) : std::string(item.as_string()));
    }
    return out;
  }

  void refuse_the_rest() {
    for (std::size_t i = 0; i < asked_.size(); ++i)
      if (!asked_[i])
        errors_.push_back(json::forbidden(under(at_, object_.members()[i].key()), "unknown field"));
  }

 private:
  const Value& object_;
  const std::string at_;
  FieldErrors& errors_;
  std::vector<bool> asked_;
};

// `metadata` with the name and namespace that stand beside it, if they do.
struct Identity {
  std::string namespace_name, name;
  Value metadata;
};
Identity read_identity(Fields& fields, const Place& place, const std::string& at,
                       FieldErrors& errors) {
  Identity out;
  out.metadata = fields.get({"metadata"});
  if (!out.metadata.is_null() && !out.metadata.is_object()) {
    errors.push_back(json::type_invalid(under(at, "metadata"), out.metadata, "must be an object"));
    out.metadata = Value();
  }
  if (out.metadata.is_null()) out.metadata = Value::object();
  std::string name = fields.text({"name"}), space = fields.text({"namespace"});
  fields.get({"kind"});
  fields.get({"apiVersion"});
  auto agree = [&](const char* key, const std::string& beside) {
    std::string inside(out.metadata[key].as_string());
    if (!beside.empty() && !inside.empty() && beside != inside)
      errors.push_back(
          json::invalid(under(at, key), beside, cat("metadata says ", quoted(inside))));
  };
  agree("name", name);
  agree("namespace", space);
  if (out.metadata["name"].is_null() && !name.empty()) out.metadata.set("name", name);
  if (out.metadata["namespace"].as_string().empty()) {
    std::string_view here = space.empty() ? place.namespace_name : std::string_view(space);
    if (!here.empty()) out.metadata.set("namespace", here);
  }
  out.name = out.metadata["name"].as_string();
  out.namespace_name = out.metadata["namespace"].as_string();
  return out;
}

RoleRef read_reference(const Value& sent, const std::string& at, FieldErrors& errors) {
  Fields fields(sent, at, errors);
  RoleRef out{fields.text({"namespace"}), fields.text({"name"})};
  // An ObjectReference may have more fields; none of them distinguishes roles.
  for (std::string_view other :
       {"kind", "apiVersion", "apiGroup", "uid", "resourceVersion", "fieldPath"})
    fields.get({other});
  fields.refuse_the_rest();
  return out;
}

Restriction read_restriction(const Value& sent, const std::string& at, FieldErrors& errors) {
  Restriction out;
  if (sent.is_null()) return out;
  out.kind = Restriction::Kind::kUnknown;
  out.written = sent;
  if (!sent.is_object()) {
    errors.push_back(json::type_invalid(at, sent, "must be an object"));
    return out;
  }
  FieldErrors own;
  Fields fields(sent, at, own);
  std::string kind = fields.text({"kind"});
  fields.get({"apiVersion"});
  using Kind = Restriction::Kind;
  if (kind.empty() && !fields.get({"fieldsMutatable"}).is_null()) {
    out.kind = Kind::kFieldsMutatable;
    out.items = fields.texts({"fieldsMutatable"});
  } else if (kind.empty() && !fields.get({"labelsContain"}).is_null()) {
    out.kind = Kind::kLabelsContain;
    out.items = fields.texts({"labelsContain"});
  } else if (equals_ignoring_case(kind, "sameMinionRestriction")) {
    out.kind = Kind::kSameMinion;
  } else if (equals_ignoring_case(kind, "IsPersonalSubjectAccessReview")) {
    out.kind = Kind::kPersonalReview;
  } else if (equals_ignoring_case(kind, "cel")) {
    out.kind = Kind::kCel;
    out.expression = fields.text({"expression"});
  } else {
    return out;
  }
  fields.refuse_the_rest();
  if (own.empty())
    out.written = Value();
  else
    out = {.kind = Kind::kUnknown, .items = {}, .expression = {}, .written = sent};
  errors.insert(errors.end(), own.begin(), own.end());
  return out;
}

Value list(const std::vector<std::string>& texts) {
  Value out = Value::array();
  for (const std::string& t : texts) out.push_back(t);
  return out;
}

void set_list(Value& object, std::string_view key, const std::vector<std::string>& texts) {
  if (!texts.empty()) object.set(key, list(texts));
}

Value restriction_json(const Restriction& r) {
  using Kind = Restriction::Kind;
  switch (r.kind) {
    case Kind::kNone:
      return {};
    case Kind::kFieldsMutatable:
      return Value::object({{"fieldsMutatable", list(r.items)}});
    case Kind::kLabelsContain:
      return Value::object({{"labelsContain", list(r.items)}});
    case Kind::kSameMinion:
      return Value::object({{"kind", "sameMinionRestriction"}});
    case Kind::kPersonalReview:
      return Value::object({{"kind", "IsPersonalSubjectAccessReview"}});
    case Kind::kCel:
      return Value::object({{"kind", "cel"}, {"expression", r.expression}});
    case Kind::kUnknown:
      break;
  }
  return r.written;
}

Value object_of(std::string_view kind, bool is_inside, const Value& metadata) {
  Value out = Value::object({{"metadata", metadata}});
  if (is_inside) return out;
  out.set("kind", kind);
  out.set("apiVersion", kApiVersion);
  return out;
}

Value reference_json(const RoleRef& ref) {
  return Value::object({{"namespace", ref.namespace_name}, {"name", ref.name}});
}

// The elements of a container, by key.
template <typename Element, typename Read>
std::map<std::string, Element, std::less<>> read_elements(const Value& sent, const std::string& at,
                                                          FieldErrors& errors, Read read) {
  std::map<std::string, Element, std::less<>> out;
  if (!sent.is_null() && !sent.is_object())
    errors.push_back(json::type_invalid(at, sent, "must be an object"));
  for (const json::Member& m : sent.members()) {
    Element element = read(m.value, cat(at, "[", m.key(), "]"));
    if (element.name.empty()) {
      element.name = m.key();
      element.metadata.set("name", m.key());
    }
    out.emplace(m.key(), std::move(element));
  }
  return out;
}

}  // namespace

Rule read_rule(const Value& sent, const std::string& at, FieldErrors& errors) {
  Fields fields(sent, at, errors);
  Rule out;
  out.deny = fields.flag({"deny"});
  out.verbs = fields.texts({"verbs"});
  for (std::string& v : out.verbs) v = stored_verb(v);
  out.resource_kinds = fields.texts({"resourceKinds", "resources"}, true);
  out.resource_names = fields.texts({"resourceNames"});
  out.non_resource_urls = fields.texts({"nonResourceURLs"});
  out.api_groups = fields.texts({"apiGroups"}, true);
  out.restriction = read_restriction(fields.get({"attributeRestrictions"}),
                                     under(at, "attributeRestrictions"), errors);
  out.description = fields.text({"description"});
  fields.refuse_the_rest();
  return out;
}

Role read_role(const Value& sent, const Place& place, const std::string& at, FieldErrors& errors) {
  Fields fields(sent, at, errors);
  Identity who = read_identity(fields, place, at, errors);
  Role out{who.namespace_name, who.name, who.metadata, {}};
  const Value& rules = fields.get({"rules", "rule"});
  std::string where = under(at, "rules");
  if (!rules.is_null() && !rules.is_array())
    errors.push_back(json::type_invalid(where, rules, "must be a list of rules"));
  for (std::size_t i = 0; i < rules.items().size(); ++i)
    out.rules.push_back(read_rule(rules[i], item_of(where, i), errors));
  fields.refuse_the_rest();
  return out;
}

RoleBinding read_role_binding(const Value& sent, const Place& place, const std::string& at,
                              FieldErrors& errors) {
  Fields fields(sent, at, errors);
  Identity who = read_identity(fields, place, at, errors);
  RoleBinding out{who.namespace_name, who.name, who.metadata, {}, {}, {}};
  out.user_names = fields.texts({"userNames"});
  out.group_names = fields.texts({"groupNames"});
  const Value& reference = fields.get({"roleRef"});
  bool is_global = fields.flag({"referencesGlobalRole"});
  std::string role_name = fields.text({"roleName"});
  if (!reference.is_null()) {
    out.role = read_reference(reference, under(at, "roleRef"), errors);
    if (is_global || !role_name.empty())
      errors.push_back(
          json::forbidden(under(at, "roleName"), "may not be set together with roleRef"));
  } else if (!role_name.empty()) {
    out.role = {is_global ? std::string(place.master) : out.namespace_name, role_name};
  }
  if (out.role.namespace_name.empty()) out.role.namespace_name = out.namespace_name;
  fields.refuse_the_rest();
  return out;
}

PolicyDocument read_policy(const Value& sent, const Place& place, FieldErrors& errors) {
  Fields fields(sent, "", errors);
  Identity who = read_identity(fields, place, "", errors);
  if (who.name.empty() || who.name == "Policy") {
    who.name = kPolicyName;
    who.metadata.set("name", kPolicyName);
  }
  PolicyDocument out{who.namespace_name, who.name, who.metadata, fields.get({"lastModified"}), {}};
  Place inside{out.namespace_name, place.master};
  out.roles = read_elements<Role>(
      fields.get({"roles"}), "roles", errors,
      [&](const Value& v, const std::string& at) { return read_role(v, inside, at, errors); });
  fields.refuse_the_rest();
  return out;
}

PolicyBindingDocument read_policy_binding(const Value& sent, const Place& place,
                                          FieldErrors& errors) {
  Fields fields(sent, "", errors);
  Identity who = read_identity(fields, place, "", errors);
  PolicyBindingDocument out{who.namespace_name,           who.name, who.metadata,
                            fields.get({"lastModified"}), {},       {}};
  const Value& reference = fields.get({"policyRef"});
  if (!reference.is_null()) out.policy = read_reference(reference, "policyRef", errors);
  if (out.policy.namespace_name.empty()) out.policy.namespace_name = out.name;
  if (out.policy.name.empty() || out.policy.name == "Policy") out.policy.name = kPolicyName;
  if (out.name.empty() && !out.policy.namespace_name.empty()) {
    out.name = out.policy.namespace_name;
    out.metadata.set("name", out.name);
  }
  Place inside{out.namespace_name, place.master};
  out.role_bindings = read_elements<RoleBinding>(fields.get({"roleBindings"}), "roleBindings",
                                                 errors,
                                                 [&](const Value& v, const std::string& at) {
                                                   return read_role_binding(v, inside, at, errors);
                                                 });
  fields.refuse_the_rest();
  return out;
}

Value as_json(const Rule& rule) {
  Value out = Value::object();
  if (rule.deny) out.set("deny", true);
  out.set("verbs", list(rule.verbs));
  if (!rule.resource_kinds.empty() || rule.non_resource_urls.empty())
    out.set("resourceKinds", list(rule.resource_kinds));
  set_list(out, "resourceNames", rule.resource_names);
  set_list(out, "nonResourceURLs", rule.non_resource_urls);
  set_list(out, "apiGroups", rule.api_groups);
  if (Value restriction = restriction_json(rule.restriction); !restriction.is_null())
    out.set("attributeRestrictions", std::move(restriction));
  if (!rule.description.empty()) out.set("description", rule.description);
  return out;
}

Value as_json(const Role& role, bool is_inside) {
  Value out = object_of("Role", is_inside, role.metadata);
  Value rules = Value::array();
  for (const Rule& r : role.rules) rules.push_back(as_json(r));
  out.set("rules", std::move(rules));
  return out;
}

Value as_json(const RoleBinding& binding, bool is_inside) {
  Value out = object_of("RoleBinding", is_inside, binding.metadata);
  out.set("roleRef", reference_json(binding.role));
  set_list(out, "userNames", binding.user_names);
  set_list(out, "groupNames", binding.group_names);
  return out;
}

Value as_json(const PolicyDocument& policy) {
  Value out = object_of("Policy", false, policy.metadata);
  if (!policy.last_modified.is_null()) out.set("lastModified", policy.last_modified);
  Value& roles = out.set("roles", Value::object());
  for (const auto& [key, role] : policy.roles) roles.set(key, as_json(role, true));
  return out;
}

Value as_json(const PolicyBindingDocument& binding) {
  Value out = object_of("PolicyBinding", false, binding.metadata);
  if (!binding.last_modified.is_null()) out.set("lastModified", binding.last_modified);
  out.set("policyRef", reference_json(binding.policy));
  Value& bindings = out.set("roleBindings", Value::object());
  for (const auto& [key, one] : binding.role_bindings) bindings.set(key, as_json(one, true));
  return out;
}

}  // namespace cardea::authz::namespace_policy
