#include "rest/catalog_holder.h"

namespace cardea::rest {

std::shared_ptr<const catalog::Catalog> CatalogHolder::get() const {
  struct Seen {
    const CatalogHolder* holder = nullptr;
    std::uint64_t version = 0;
    std::shared_ptr<const catalog::Catalog> catalog;
  };
  thread_local Seen seen;
  std::uint64_t now = version_.load(std::memory_order_acquire);
  if (seen.holder != this || seen.version != now) {
    std::lock_guard lock(mutex_);
    seen = {this, version_.load(std::memory_order_relaxed), current_};
  }
  return seen.catalog;
}

void CatalogHolder::set(std::shared_ptr<const catalog::Catalog> next) {
  std::lock_guard lock(mutex_);
  current_ = std::move(next);
  version_.fetch_add(1, std::memory_order_release);
}

}  // namespace cardea::rest
