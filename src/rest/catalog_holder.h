#pragma once
#include "base/snapshot.h"
#include "catalog/catalog.h"

namespace cardea::rest {

// The current catalogue. After a definition is written, the writer's next request is served
// with it.
class CatalogHolder : public Snapshot<catalog::Catalog> {
 public:
  using Snapshot::Snapshot;
};

}  // namespace cardea::rest
