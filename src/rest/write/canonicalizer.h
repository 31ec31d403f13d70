#pragma once
#include <string_view>

#include "base/result.h"
#include "catalog/catalog.h"
#include "json/value.h"

namespace cardea::rest {

// Reads objects of kinds that may be written in other ways than their schema says, and gives them
// in their canonical form. Asked for bodies before anything else looks at them, and for what
// patches make. Shared between threads.
class Canonicalizer {
 public:
  virtual ~Canonicalizer() = default;
  virtual bool applies(const catalog::Resource& resource) const = 0;
  // `namespace_name` is the request's. What cannot be understood is a 422 with its path.
  virtual Result<json::Value> canonical(const catalog::Resource& resource,
                                        std::string_view namespace_name,
                                        const json::Value& sent) const = 0;
};

}  // namespace cardea::rest
