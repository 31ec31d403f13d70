#include "schema/ownership/versions.h"

#include "schema/ownership/merge.h"

namespace cardea::schema {

using json::Value;

VersionedChanges::VersionedChanges(const Value& before, const Value& after, const Schema& schema,
                                   std::string_view api_version, const FieldSet* reset_fields,
                                   const VersionSchemas& schema_of, const VersionViews& view_of)
    : before_(before),
      after_(after),
      schema_(schema),
      api_version_(api_version),
      reset_fields_(reset_fields),
      schema_of_(schema_of),
      view_of_(view_of),
      own_(compare(before, after, schema)) {
  if (reset_fields_) own_ = own_.without(*reset_fields_);
}

bool VersionedChanges::has_own_fields(const FieldOwner& owner) const {
  return view_of_ && owner.api_version != api_version_ && schema_of_(owner.api_version);
}

const Schema& VersionedChanges::schema_for(const FieldOwner& owner) const {
  return has_own_fields(owner) ? *schema_of_(owner.api_version) : schema_;
}

const Comparison* VersionedChanges::changes_for(const FieldOwner& owner) {
  if (!has_own_fields(owner)) return &own_;
  if (auto known = others_.find(owner.api_version); known != others_.end()) return &known->second;
  // An object that was not there is not there in any version.
  std::optional<Value> before = before_["kind"].is_null() ? before_
                                                          : view_of_(before_, owner.api_version);
  std::optional<Value> after = view_of_(after_, owner.api_version);
  if (!before || !after) return nullptr;
  Comparison changes = compare(*before, *after, *schema_of_(owner.api_version));
  if (reset_fields_) changes = changes.without(*reset_fields_);
  return &others_.emplace(owner.api_version, std::move(changes)).first->second;
}

namespace {

FieldSet named_fields(const Value& object, const Schema& schema) {
  return field_set_of(object, schema).with_named_fields(schema);
}

}  // namespace

std::optional<Value> pruned_across_versions(const Value& merged, const ManagedFields& managed,
                                            const FieldOwner& last, std::string_view api_version,
                                            const Schema& schema, const VersionSchemas& schema_of,
                                            const VersionViews& view_of) {
  const Schema* old_schema = schema_of(last.api_version);
  if (!old_schema) return merged;
  std::optional<Value> whole = view_of(merged, last.api_version);
  if (!whole) return std::nullopt;
  const FieldSet before = last.fields.with_named_fields(*old_schema);
  Value pruned = without(*whole, before, *old_schema);

  // What others own comes back, in the version that they own it in.
  std::map<std::string, FieldSet, std::less<>> owned;
  for (const FieldOwner& owner : managed.owners) {
    FieldSet& all = owned[owner.api_version];
    all = all.union_with(owner.fields);
  }
  for (const auto& [version, fields] : owned) {
    const Schema* shape = version == api_version ? &schema : schema_of(version);
    if (!shape) continue;
    std::optional<Value> all = view_of(merged, version), left = view_of(pruned, version);
    if (!all || !left) return std::nullopt;
    const FieldSet kept = named_fields(*left, *shape).union_with(fields.with_named_fields(*shape));
    pruned = without(*all, named_fields(*all, *shape).difference(kept), *shape);
  }
  std::optional<Value> left = view_of(pruned, last.api_version);
  if (!left) return std::nullopt;
  const FieldSet gone = named_fields(*whole, *old_schema)
                            .difference(named_fields(*left, *old_schema))
                            .intersection(before);
  return view_of(without(*whole, gone, *old_schema), api_version);
}

}  // namespace cardea::schema
