#pragma once
#include <functional>
#include <utility>

#include "base/result.h"
#include "catalog/catalog.h"
#include "json/value.h"

namespace cardea::rest {

// Resources that a write has taken from a limited supply. Returned when it is destroyed, unless
// the write succeeded.
class Reservation {
 public:
  Reservation() = default;
  explicit Reservation(std::function<void()> release) : release_(std::move(release)) {}
  Reservation(Reservation&& other) noexcept : release_(std::exchange(other.release_, nullptr)) {}
  Reservation& operator=(Reservation&& other) noexcept {
    std::swap(release_, other.release_);
    return *this;
  }
  ~Reservation() {
    if (release_) release_();
  }
  void keep() { release_ = nullptr; }

 private:
  std::function<void()> release_;
};

// Gives objects their share of something limited, after admission and before they are prepared and
// validated. Shared between threads.
class Allocator {
 public:
  virtual ~Allocator() = default;
  virtual bool applies(const catalog::Resource& resource) const = 0;
  virtual Result<Reservation> allocate(json::Value& object, const json::Value* old,
                                       bool dry_run) = 0;
};

}  // namespace cardea::rest
