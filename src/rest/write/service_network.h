#pragma once
#include <memory>
#include <mutex>
#include <string>

#include "base/random.h"
#include "catalog/kinds/core/service_allocator.h"
#include "rest/write/allocator.h"
#include "store/store.h"

namespace cardea::rest {

// The first address of a range, which the `kubernetes` service has: 10.0.0.1 of 10.0.0.0/24.
Result<std::string> first_service_address(const std::string& cidr);

// Cluster addresses and node ports of services. Reads the used ones from the store itself, so
// that no second record can disagree.
class ServiceNetwork : public Allocator {
 public:
  static Result<std::unique_ptr<ServiceNetwork>> make(store::Store& store, Random& random,
                                                      const std::string& cidr,
                                                      const std::string& port_range);

  bool applies(const catalog::Resource& resource) const override;
  Result<Reservation> allocate(json::Value& object, const json::Value* old, bool dry_run) override;

 private:
  ServiceNetwork(store::Store& store, Random& random, catalog::ServiceAllocator allocator)
      : store_(store), random_(random), allocator_(std::move(allocator)) {}
  Result<void> follow();
  void note(const store::Event& event);

  store::Store& store_;
  Random& random_;
  catalog::ServiceAllocator allocator_;
  std::mutex mutex_;
  catalog::ServicesInUse in_use_;  // guarded by mutex_
  std::unique_ptr<store::Watch> watch_;
};

}  // namespace cardea::rest
