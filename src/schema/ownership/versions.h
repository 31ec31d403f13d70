#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "schema/ownership/compare.h"
#include "schema/ownership/managed_fields.h"

namespace cardea::schema {

// What a write changes, in the version of each owner. Owners of the request's own version, and all
// of them where versions name their fields alike, see the change as the request does.
class VersionedChanges {
 public:
  // All of it outlives this. `before` may be an object without a kind: there was none.
  VersionedChanges(const json::Value& before, const json::Value& after, const Schema& schema,
                   std::string_view api_version, const FieldSet* reset_fields,
                   const VersionSchemas& schema_of, const VersionViews& view_of);

  const Comparison& own() const { return own_; }
  const Schema& schema_for(const FieldOwner& owner) const;
  // Nothing while a conversion is not known yet.
  const Comparison* changes_for(const FieldOwner& owner);

 private:
  bool has_own_fields(const FieldOwner& owner) const;

  const json::Value &before_, &after_;
  const Schema& schema_;
  const std::string_view api_version_;
  const FieldSet* reset_fields_;
  const VersionSchemas& schema_of_;
  const VersionViews& view_of_;
  Comparison own_;
  std::map<std::string, Comparison, std::less<>> others_;
};

// The fields that a manager applied last time and does not apply now are removed from `merged`,
// except those that others own: where the manager applied in another version than now. Nothing
// while a conversion is not known yet.
std::optional<json::Value> pruned_across_versions(
    const json::Value& merged, const ManagedFields& managed, const FieldOwner& last,
    std::string_view api_version, const Schema& schema, const VersionSchemas& schema_of,
    const VersionViews& view_of);

}  // namespace cardea::schema
