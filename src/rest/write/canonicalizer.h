#pragma once
#include <string_view>

#include "base/result.h"
#include "catalog/catalog.h"
#include "json/value.h"

namespace cardea::rest {

// Reads objects of kinds that accept other spellings than their schema, and returns them in
// canonical form. Called for bodies before any other check, and for the results of patches.
// Shared between threads.
class Canonicalizer {
 public:
  virtual ~Canonicalizer() = default;
  virtual bool applies(const catalog::Resource& resource) const = 0;
  // `namespace_name` is the request's. An object that cannot be understood is a 422 with its
  // path.
  virtual Result<json::Value> canonical(const catalog::Resource& resource,
                                        std::string_view namespace_name,
                                        const json::Value& sent) const = 0;
};

}  // namespace cardea::rest
