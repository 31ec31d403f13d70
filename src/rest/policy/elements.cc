#include "rest/policy/elements.h"

#include "authz/namespace_policy/documents.h"
#include "base/strings.h"
#include "json/parse.h"
#include "json/print.h"

namespace cardea::rest::policy {

namespace documents = authz::namespace_policy;
using json::Value;

namespace {

class Parsed : public store::Derived {
 public:
  explicit Parsed(std::string_view text) {
    if (auto value = json::parse(text); value && value->is_object()) document = std::move(*value);
  }
  Value document;
};

const Value& nothing() {
  static const Value none;
  return none;
}

store::Revision revision_of(const Value& element, store::Revision of_container) {
  auto own = parse_int(element["metadata"]["resourceVersion"].as_string());
  return own && *own > 0 && *own <= of_container ? *own : of_container;
}

}  // namespace

std::string_view prefix_of(ElementKind kind) {
  return kind == ElementKind::kRole ? kRolesPrefix : kRoleBindingsPrefix;
}

std::string_view containers_of(ElementKind kind) {
  return kind == ElementKind::kRole ? documents::kPoliciesPrefix : documents::kPolicyBindingsPrefix;
}

std::string_view member_of(ElementKind kind) {
  return kind == ElementKind::kRole ? "roles" : "roleBindings";
}

std::optional<ElementKind> kind_of_keys(std::string_view key) {
  if (key.starts_with(kRolesPrefix)) return ElementKind::kRole;
  if (key.starts_with(kRoleBindingsPrefix)) return ElementKind::kRoleBinding;
  return std::nullopt;
}

std::optional<ElementKind> kind_of_containers(std::string_view key) {
  if (key.starts_with(documents::kPoliciesPrefix)) return ElementKind::kRole;
  if (key.starts_with(documents::kPolicyBindingsPrefix)) return ElementKind::kRoleBinding;
  return std::nullopt;
}

KeyPlace place_of(std::string_view key, std::string_view prefix) {
  std::string_view rest = key.substr(prefix.size());
  auto slash = rest.find('/');
  if (slash == std::string_view::npos) return {rest, ""};
  return {rest.substr(0, slash), rest.substr(slash + 1)};
}

std::string role_key(std::string_view namespace_name, std::string_view name) {
  return cat(kRolesPrefix, namespace_name, "/", name);
}

std::string policy_key(std::string_view namespace_name) {
  return cat(documents::kPoliciesPrefix, namespace_name, "/", documents::kPolicyName);
}

std::string policy_binding_key(std::string_view namespace_name, std::string_view points_to) {
  return cat(documents::kPolicyBindingsPrefix, namespace_name, "/", points_to);
}

const Value& container_of(const store::Record& record) {
  const store::Derived* kept = record.derived();
  if (!kept) kept = record.derive(std::make_unique<const Parsed>(record.value()));
  const auto* parsed = dynamic_cast<const Parsed*>(kept);
  return parsed ? parsed->document : nothing();
}

const Value& elements_of(const store::Record& record, ElementKind kind) {
  return container_of(record)[member_of(kind)];
}

bool is_empty_container(const store::Record& record, ElementKind kind) {
  const Value& document = container_of(record);
  if (!document.is_object()) return false;
  const Value& elements = document[member_of(kind)];
  return elements.is_null() || (elements.is_object() && elements.empty());
}

store::RecordPtr element_record(ElementKind kind, std::string_view namespace_name,
                                std::string_view name, const Value& element,
                                store::Revision of_container) {
  Value object = element.is_object() ? element : Value::object();
  if (!object["metadata"].is_object()) object.set("metadata", Value::object());
  Value& meta = object.member("metadata");
  // The key counts, whatever the content says.
  meta.set("name", name);
  meta.set("namespace", namespace_name);
  meta.erase("resourceVersion");
  object.set("kind", kind == ElementKind::kRole ? "Role" : "RoleBinding");
  object.set("apiVersion", documents::kApiVersion);
  store::Revision revision = revision_of(element, of_container);
  return store::Record::make(cat(prefix_of(kind), namespace_name, "/", name),
                             json::print_object(object), revision, revision, 1);
}

void add_element_records(const store::Record& container, ElementKind kind,
                         std::vector<store::RecordPtr>& out) {
  KeyPlace place = place_of(container.key(), containers_of(kind));
  for (const json::Member& m : elements_of(container, kind).members())
    out.push_back(
        element_record(kind, place.namespace_name, m.key(), m.value, container.mod_revision));
}

Result<Value> as_element(std::string_view object) {
  auto value = json::parse(object);
  if (!value || !value->is_object())
    return fail(internal_error("an element of a policy must be an object"));
  value->erase("kind");
  value->erase("apiVersion");
  if ((*value)["metadata"].is_object()) value->member("metadata").erase("resourceVersion");
  return value;
}

void settle_revisions(Value& container, ElementKind kind, store::Revision of_container) {
  std::vector<std::string> fresh;
  for (const json::Member& m : container[member_of(kind)].members())
    if (m.value["metadata"].is_object() &&
        m.value["metadata"]["resourceVersion"].as_string().empty())
      fresh.emplace_back(m.key());
  for (const std::string& name : fresh)
    container.member(member_of(kind))
        .member(name)
        .member("metadata")
        .set("resourceVersion", std::to_string(of_container));
}

}  // namespace cardea::rest::policy
