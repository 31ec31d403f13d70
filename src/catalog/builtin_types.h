#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/strings.h"
#include "schema/schema.h"

namespace cardea::catalog {

struct GroupVersionKind {
  std::string group, version, kind;
  friend bool operator==(const GroupVersionKind&, const GroupVersionKind&) = default;
};

// The types that Kubernetes' own kinds are made of, as a graph of schemas. Built once from embedded
// data, immutable afterwards.
//
// Types with a form of their own: Quantity is of type int-or-string with format "quantity" (it
// takes any number), Time and MicroTime are strings with format "date-time", RawExtension and
// FieldsV1 are objects that keep every field. `type_name` tells them apart.
class BuiltinTypes {
 public:
  BuiltinTypes();

  struct Type {
    const schema::Schema* schema;
    std::vector<GroupVersionKind> kinds;  // where the type is the body of a kind: that kind
  };
  using Types = std::unordered_map<std::string, Type, StringHash, std::equal_to<>>;

  const schema::Schema* find(std::string_view name) const;  // "io.k8s.api.core.v1.Pod"
  const schema::Schema* find_kind(std::string_view group, std::string_view version,
                                  std::string_view kind) const;
  const Types& all() const { return types_; }

 private:
  class Builder;

  schema::SchemaSet nodes_;
  Types types_;
  std::unordered_map<std::string, const schema::Schema*, StringHash, std::equal_to<>>
      kinds_;  // "group/version/kind"
};

}  // namespace cardea::catalog
