#pragma once
#include "rest/guards/write_guard.h"

namespace cardea::rest {

// Deleting a namespace deletes its content, and deleting a CustomResourceDefinition deletes its
// objects. So a denial of deleting the objects also denies deleting the namespace or the
// definition. The chain is asked whether it denies the caller to delete objects of each
// resource that has objects there; denials with conditions are judged on the stored objects.
// Nothing is asked while no document denies anything.
//
// A request that gives a namespace or a definition an owner, through any subresource, causes
// its deletion: the garbage collector deletes it when the owner does not exist. The time of the
// deletion is not known, so a denial without conditions counts for a namespace even while it
// has no matching objects.
//
// The documents of a namespace do not count if the caller deletes by a grant above namespaces:
// for a namespace, a grant at the cluster scope; for a definition, always.
class ContentGuard : public WriteGuard {
 public:
  bool applies(const catalog::Resource& resource) const override;
  Task<Result<void>> check(Call& call, WriteAttempt attempt) const override;
  Task<Result<void>> check_deletion(Call& call, const json::Value& old) const override;
};

}  // namespace cardea::rest
