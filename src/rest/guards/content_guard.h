#pragma once
#include "rest/guards/write_guard.h"

namespace cardea::rest {

// Deleting a namespace deletes what is in it, and deleting a CustomResourceDefinition deletes its
// objects: what denies the one denies the other. The chain is asked whether it denies the caller to
// delete objects of each resource that has some there; denials with conditions are judged on the
// stored objects. Nothing is asked while no document denies anything.
//
// Who names an owner of a namespace or of a definition, through any of its parts, orders its
// deletion: the garbage collector deletes it once the owner is gone. Nobody knows when, so a denial
// without conditions counts for a namespace even while nothing that it is about is there.
//
// The documents of a namespace have no say where the caller deletes by a grant above namespaces: a
// namespace by one that holds at the cluster scope, a definition in any case.
class ContentGuard : public WriteGuard {
 public:
  bool applies(const catalog::Resource& resource) const override;
  Task<Result<void>> check(Call& call, WriteAttempt attempt) const override;
  Task<Result<void>> check_deletion(Call& call, const json::Value& old) const override;
};

}  // namespace cardea::rest
