#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "schema/schema.h"

namespace cardea::cel {
class Program;
}

namespace cardea::schema {

// The permission to change one part of an object: a noun at a node of a schema that guards the
// node with everything below it. Authorizers see it as a verb: `granular:labels` or, with a
// parameter from the object, `granular:label(super.safe.com)`.
struct Permission {
  enum class Source : std::uint8_t {
    kNone,
    kMapKey,    // the key under which a map holds the value
    kSetValue,  // the item of a list of type set
    kListKey,   // `field` of what identifies an item of a list of type map
    kValue,     // the scalar at `field` (names joined by dots) below the map value or item
    kSelf,      // the value of the field itself, as it becomes
  };
  enum class Treatment : std::uint8_t {
    kNone,         // as it is
    kSlashPrefix,  // what comes before the first slash; all of it where there is none
    kExpression,   // what a CEL expression makes of it; custom resources alone
  };

  std::string name;  // "label", "example.com/selfDestruct"
  Source source = Source::kNone;
  std::string field;
  // The key is not that of the field itself but of something above it: "spec.tenants[*]".
  std::string ancestor = {};
  std::size_t ancestor_depth = 0;  // in steps from the root; 0: there is no ancestor
  Treatment treatment = Treatment::kNone;
  std::string expression;
  std::shared_ptr<const cel::Program> program;  // null where there is no expression, or one that
                                                // does not compile
  bool excluded = false;  // neither an enclosing permission nor the verb of the request implies it
  std::string map = {};   // the PermissionMap that adds it; empty: the kind has it by itself

  bool has_parameter() const { return source != Source::kNone; }
};

inline constexpr std::string_view kGranularVerb = "granular";  // the verb that lets a caller try to
                                                               // change single fields
inline constexpr std::string_view kGranularPrefix = "granular:";
inline constexpr std::size_t kLongestParameter = 253;  // bytes, as the verb spells it
inline constexpr std::size_t kMostTaggedNodes = 64;    // of one version of a custom resource

// The verb of a permission whose parameter, if it has one, comes from `raw`. nullopt when no
// verb can be made: the expression failed, or the parameter is longer than kLongestParameter.
// Characters that are not plain are percent-encoded, so that no text makes the verb of another
// permission.
std::optional<std::string> permission_verb(const Permission& permission, std::string_view raw);
// The same for kSelf. `self` is the value that the field gets; null when the field is removed: its
// text is empty, for an expression it is null. Nothing can be made of a list or map without an
// expression.
std::optional<std::string> permission_verb_of_value(const Permission& permission,
                                                    const json::Value* self);
std::string encoded_parameter(std::string_view text);
std::string scalar_text(const json::Value& value);  // as a parameter has it: `true`, `7`, a text
// For users: `granular:label(<prefix of the key>)`.
std::string verb_pattern(const Permission& permission);

struct AddedPermission;

// A path of names as steps: "spec.containers[*].image" is "spec", "containers", kEach, "image".
inline constexpr std::string_view kEach = "*";
std::vector<std::string> field_steps(std::string_view path);

// All permissions of one version of one kind, as a tree beside its schema. Immutable, shared
// between threads.
class PermissionTree {
 public:
  struct Node {
    const Permission* permission = nullptr;
    std::vector<std::pair<std::string, const Node*>> fields;  // by name
    const Node* any = nullptr;  // values of a map, items of a set or of a list of type map
    bool has_excluded = false;  // here or below

    const Node* field(std::string_view name) const;
    // The node a path element leads to (`f:spec`, `k:{"name":"c"}`, as FieldSet writes them); null
    // when nothing below has a permission.
    const Node* child(std::string_view element) const;
  };

  // Those of a built-in kind, by the table of built-in permissions. `group` and `kind` as in
  // apiVersion and kind. `added` are further ones, of which those count that fit (misfit,
  // added_permissions.h); of two for one field the first.
  using Added = std::span<const AddedPermission>;
  static std::shared_ptr<const PermissionTree> of_builtin(const Schema& root,
                                                          std::string_view group,
                                                          std::string_view kind, Added added = {});
  // Those of a custom resource: what holds for the metadata of every object, and the tags of its
  // definition. A definition without tags has the general permissions of built-in kinds on `spec`,
  // `status` and `status.conditions`.
  static std::shared_ptr<const PermissionTree> of_custom(const Schema& root, Added added = {});

  const Node& root() const { return *root_; }
  // The schema by which changes are to be compared, where it is not the object's own: an atomic
  // list whose items are tagged by a key is looked at item by item. Null where the object's own
  // does.
  const Schema* compared() const { return compared_; }
  bool has_excluded() const { return root_->has_excluded; }  // by the schema itself
  bool has(std::string_view name) const { return names_.contains(name); }
  // The permission at exactly this place; null where there is none.
  const Permission* at(const std::vector<std::string>& steps) const;
  bool takes_values() const {
    return takes_values_;
  }  // whether parameters come from values of the objects

  // One field that a permission guards, and the permissions that cover it too, general to specific.
  struct Guarded {
    std::string field;  // "metadata.labels[*]", "spec.replicas"
    std::vector<const Permission*> enclosing;
  };
  struct Listed {
    const Permission* permission;
    std::vector<Guarded> fields;  // all with the same name, parameter and treatment
  };
  // Every permission with all that it guards, in the order of the fields.
  std::vector<Listed> list() const;

  PermissionTree() = default;
  PermissionTree(const PermissionTree&) = delete;

  // For building, and for tests: what a path of names ("spec", "containers", "*") is guarded by.
  // The last one wins.
  void add(const std::vector<std::string>& path, Permission permission);
  void finish();  // once, after the last

 private:
  Node* node_at(const std::vector<std::string>& path);
  void add_fitting(const Schema& root, Added added);

  std::deque<Node> nodes_;
  std::deque<Permission> permissions_;
  Node* root_ = &nodes_.emplace_back();
  std::set<std::string, std::less<>> names_;
  bool takes_values_ = false;
  SchemaSet keyed_;  // copies of what leads to lists with keys for permissions alone
  const Schema* compared_ = nullptr;
};

// One row of the table of built-in permissions.
struct BuiltinPermission {
  std::string_view group, kind;  // kind "*": every built-in object that has the field, with group
                                 // "*" custom ones too
  std::string_view path;         // "spec.containers[*].resources"
  std::string_view name;
  Permission::Source source = Permission::Source::kNone;
  std::string_view field = {};
  Permission::Treatment treatment = Permission::Treatment::kNone;
};
const std::vector<BuiltinPermission>& builtin_permissions();
// Whether a name without prefix is well known, and so may be used by definitions and maps too:
// those of the table, and some for fields that no built-in kind tags by itself.
bool is_wellknown_permission(std::string_view name);

// An expression that makes a parameter of `self`: a text, or for kSelf the value of the field. The
// error's message says what is wrong with it.
Result<std::shared_ptr<const cel::Program>> compile_parameter(std::string_view text,
                                                              Permission::Source source);

// The same steps, and further ones.
bool is_above(const std::vector<std::string>& steps, const std::vector<std::string>& longer);
// Where the parameter of these tags comes from; kNone where that is not known.
Permission::Source source_of(const json::Value& tags);
// Whether the tags say where the parameter comes from in one of the known ways, and which these
// are.
bool has_known_source(const json::Value& tags);
const std::vector<std::string>& permission_sources();

// The tags of one node of a definition's schema; nullopt when it has none. Expressions are
// compiled.
std::optional<Permission> permission_tag(const json::Value& open_api);

}  // namespace cardea::schema
