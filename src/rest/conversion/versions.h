#pragma once
#include <vector>

#include "base/task.h"
#include "rest/call.h"

namespace cardea::rest {

// `converted` (rest/write/object_rules.h) for resources whose definition may name a webhook: then
// these wait for it. Objects may be in any version of the resource; `from` is the one that they
// are expected to be in. All resources are those of the call's catalogue.
Task<Result<std::vector<json::Value>>> convert_all(const Call& call,
                                                   std::vector<json::Value> objects,
                                                   const catalog::Resource& from,
                                                   const catalog::Resource& to);
Task<Result<json::Value>> convert_one(const Call& call, json::Value object,
                                      const catalog::Resource& from, const catalog::Resource& to);

// A stored object in this version.
Task<Result<json::Value>> read_as(const Call& call, store::RecordPtr record,
                                  const catalog::Resource& version);

}  // namespace cardea::rest
