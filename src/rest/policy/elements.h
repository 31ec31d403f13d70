#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "store/record.h"

// Roles and role bindings of namespace policy are stored inside containers: the Policy and the
// PolicyBindings of their namespace. This file finds an element in a container, and shows it as
// a separate object. Pure functions.
//
// An element's resourceVersion is the revision of the container's last write that changed it.
// This revision is not known while the element is written, so the elements of the last write
// have none and use the container's; the next write records it.
namespace cardea::rest::policy {

enum class ElementKind { kRole, kRoleBinding };

inline constexpr std::string_view kRolesPrefix = "/registry/authorization.openshift.io/roles/";
inline constexpr std::string_view
    kRoleBindingsPrefix = "/registry/authorization.openshift.io/rolebindings/";

std::string_view prefix_of(ElementKind kind);      // of the keys that elements would have
std::string_view containers_of(ElementKind kind);  // the prefix of the containers' keys
std::string_view member_of(ElementKind kind);      // of a container: `roles`, `roleBindings`
std::optional<ElementKind> kind_of_keys(std::string_view key);  // by its prefix
std::optional<ElementKind> kind_of_containers(std::string_view key);

// `NAMESPACE/NAME` at the end of a key.
struct KeyPlace {
  std::string_view namespace_name, name;
};
KeyPlace place_of(std::string_view key, std::string_view prefix);

std::string role_key(std::string_view namespace_name, std::string_view name);
std::string policy_key(std::string_view namespace_name);
// `points_to` is the namespace whose roles are bound, after which the container is named.
std::string policy_binding_key(std::string_view namespace_name, std::string_view points_to);

// The container, parsed once for each record. Null when it is not a JSON object: another
// program has written to the store.
const json::Value& container_of(const store::Record& record);
// Its elements; none if they are not an object.
const json::Value& elements_of(const store::Record& record, ElementKind kind);
// Whether nothing is in it. What cannot be read is not empty.
bool is_empty_container(const store::Record& record, ElementKind kind);

// The element as a separate record, with its own key.
store::RecordPtr element_record(ElementKind kind, std::string_view namespace_name,
                                std::string_view name, const json::Value& element,
                                store::Revision of_container);
// All of a container, in the order of their keys.
void add_element_records(const store::Record& container, ElementKind kind,
                         std::vector<store::RecordPtr>& out);

// What a container holds of an object that was an element's record: without kind, apiVersion and
// resourceVersion.
Result<json::Value> as_element(std::string_view object);
// Notes down the revision at which the elements of the last write were written.
void settle_revisions(json::Value& container, ElementKind kind, store::Revision of_container);

}  // namespace cardea::rest::policy
