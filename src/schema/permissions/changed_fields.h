#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "json/value.h"
#include "schema/ownership/compare.h"
#include "schema/ownership/field_set.h"
#include "schema/schema.h"

namespace cardea::schema {

// Fields that never count as changed by a caller: fields that the server writes, and fields
// that the endpoint restores.
struct IgnoredFields {
  FieldSet server;  // a path with longer ones in the set means itself alone, any other what is
                    // below it too
  FieldSet reset;   // with everything below

  // The ignored fields of every object. On create the caller chooses the name, so it counts.
  static const FieldSet& of_server(bool is_create);
};

// The leaves of a change: every path that was added, modified or removed, without the paths
// above it. A removed container counts by its content; a new empty container counts by itself.
FieldSet changed_leaves(const Comparison& comparison, const IgnoredFields& ignored);
// Any set of fields without the ignored ones.
FieldSet without_ignored(const FieldSet& fields, const IgnoredFields& ignored);

// The changes of a caller in one request, computed at the first use, and once. Belongs to one
// request and is used by one thread at a time.
class ChangedFields {
 public:
  // `before` is null for a create. `schema` outlives it.
  ChangedFields(json::Value before, json::Value after, const Schema& schema, IgnoredFields ignored)
      : before_(std::move(before)),
        after_(std::move(after)),
        schema_(&schema),
        ignored_(std::move(ignored)) {}
  // The same for an object that is built only when it is read.
  ChangedFields(json::Value before, std::function<json::Value()> after, const Schema& schema,
                IgnoredFields ignored)
      : before_(std::move(before)),
        make_after_(std::move(after)),
        schema_(&schema),
        ignored_(std::move(ignored)) {}

  // All of it: what was compared, what was reordered, what was counted.
  const FieldSet& leaves() const;
  // The lists whose items only changed places.
  const FieldSet& reordered() const;
  // Everything but those.
  const FieldSet& compared() const;
  // These fields count as changed too, whatever their values are. Call it before the leaves are
  // used.
  void count(FieldSet fields) { counted_ = std::move(fields); }
  const json::Value& before() const { return before_; }
  const json::Value& after() const;
  const Schema& schema() const { return *schema_; }

 private:
  void look() const;

  json::Value before_;
  mutable json::Value after_;
  mutable std::function<json::Value()> make_after_;  // empty once it was asked
  const Schema* schema_;
  IgnoredFields ignored_;
  FieldSet counted_;
  mutable std::optional<FieldSet> compared_, reordered_, leaves_;
};

// A path as messages and vectors write it: `metadata.labels.app`, `metadata.finalizers["x"]`,
// `status.conditions[type="Ready"].status`. What cannot be printed is percent-encoded, what is very
// long cut.
std::string field_text(const FieldPath& path);

}  // namespace cardea::schema
