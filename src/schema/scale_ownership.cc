#include "schema/scale_ownership.h"

#include <string>

namespace cardea::schema {
namespace {

constexpr const char* kScaleVersion = "autoscaling/v1";

const FieldPath& replicas_of_scale() {
  static const FieldPath path = {"f:spec", "f:replicas"};
  return path;
}

// The same owner on the other side: an updater is told apart by its version, which differs there.
const FieldOwner* counterpart(const ManagedFields& scale, FieldOwner owner) {
  owner.api_version = kScaleVersion;
  for (const FieldOwner& candidate : scale.owners)
    if (candidate.is(owner)) return &candidate;
  return nullptr;
}

}  // namespace

ManagedFields scale_owners(const ManagedFields& parent, const FieldPath& replicas) {
  ManagedFields out;
  for (FieldOwner owner : parent.owners) {
    if (!owner.fields.has(replicas)) continue;
    owner.fields = FieldSet::of({replicas_of_scale()});
    owner.api_version = kScaleVersion;
    out.owners.push_back(std::move(owner));
  }
  return out;
}

ManagedFields owners_after_scale(const ManagedFields& parent, const ManagedFields& scale, const FieldPath& replicas,
                                 std::string_view parent_api_version) {
  ManagedFields out;
  for (FieldOwner owner : parent.owners) {
    if (owner.fields.has(replicas) && !counterpart(scale, owner))
      owner.fields = owner.fields.difference(FieldSet::of({replicas}));
    if (!owner.fields.empty()) out.owners.push_back(std::move(owner));
  }
  for (FieldOwner owner : scale.owners) {
    if (!owner.fields.has(replicas_of_scale())) continue;
    owner.api_version = parent_api_version;
    if (out.find(owner) && out.find(owner)->fields.has(replicas)) continue;
    owner.fields = FieldSet::of({replicas});
    owner.time.clear();
    if (FieldOwner* known = out.find(owner))
      known->fields = known->fields.union_with(owner.fields);
    else
      out.owners.push_back(std::move(owner));
  }
  return out;
}

}  // namespace cardea::schema
