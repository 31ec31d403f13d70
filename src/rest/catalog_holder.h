#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "catalog/catalog.h"

namespace cardea::rest {

// The catalogue of the moment. Reading costs one atomic load while nothing changes: each thread keeps its own
// reference and renews it when the version has moved.
class CatalogHolder {
 public:
  explicit CatalogHolder(std::shared_ptr<const catalog::Catalog> first) : current_(std::move(first)) {}

  std::shared_ptr<const catalog::Catalog> get() const;
  // The version moves before this returns, so whoever writes a definition sees it served next.
  void set(std::shared_ptr<const catalog::Catalog> next);

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const catalog::Catalog> current_;
  std::atomic<std::uint64_t> version_{1};
};

}  // namespace cardea::rest
