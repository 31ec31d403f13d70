#pragma once
#include <memory>
#include <mutex>

#include "base/snapshot.h"
#include "catalog/catalog.h"

namespace cardea::rest {

// The current catalogue. After a definition is written, the writer's next request is served
// with it.
class CatalogHolder : public Snapshot<catalog::Catalog> {
 public:
  using Snapshot::Snapshot;

  // Replaces it by what `next` makes of it. Definitions and permission maps change it on threads of
  // their own: neither loses what the other has done.
  template <typename Next>
  void change(Next next) {
    std::lock_guard lock(changing_);
    const std::shared_ptr<const catalog::Catalog> now = get();
    set(next(*now));
  }

 private:
  std::mutex changing_;
};

}  // namespace cardea::rest
