#pragma once
#include <functional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "catalog/catalog.h"
#include "json/value.h"
#include "store/store.h"

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

// What is stored beside an object, in its transaction, so that no other server gives away the same.
// If a compare does not hold, the write is tried again.
struct Claims {
  std::vector<store::Compare> compares = {};
  std::vector<store::Op> ops = {};
};

// Gives objects their share of something limited. Shared between threads.
class Allocator {
 public:
  virtual ~Allocator() = default;
  virtual bool applies(const catalog::Resource& resource) const = 0;
  // After admission, and before the object is prepared and validated. `old` is null for a create.
  virtual Result<Reservation> allocate(json::Value& object, const json::Value* old,
                                       bool dry_run) = 0;
  // When the object is about to be stored: from `old`, null for a create, to `now`, null for a
  // deletion.
  virtual Result<Claims> claims(const json::Value* old, const json::Value* now) = 0;
};

}  // namespace cardea::rest
