#pragma once
#include "base/snapshot.h"
#include "catalog/catalog.h"

namespace cardea::rest {

// The catalogue of the moment. Whoever writes a definition sees it served next.
class CatalogHolder : public Snapshot<catalog::Catalog> {
 public:
  using Snapshot::Snapshot;
};

}  // namespace cardea::rest
