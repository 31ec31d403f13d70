#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "catalog/kinds/core/service_allocator.h"
#include "rest/at_rest/node_port_range.h"
#include "rest/write/allocator.h"
#include "store/store.h"

namespace cardea::rest {

// Cluster addresses and node ports of services.
//
// Addresses come from the ranges of the ServiceCIDR objects; while there is none by the name
// `kubernetes`, from the flags. An IPAddress object is stored and deleted in the transaction of its
// service: its key is the lock, so two servers on one store never give away the same address. The
// transaction also relies on the ServiceCIDR: no address is taken from a range that is on its way
// out.
//
// Which addresses and ports are free is known from the stored services and IPAddresses. Where
// several servers share the store, node ports are also in the object in which kube-apiserver keeps
// them (rest/at_rest/node_port_range.h), which is compared and written in the same transaction.
class ServiceNetwork : public Allocator {
 public:
  // `ranges` as --service-cluster-ip-range has them, `ports` as --service-node-port-range.
  static Result<std::unique_ptr<ServiceNetwork>> make(store::Store& store, const Clock& clock,
                                                      Random& random, const std::string& ranges,
                                                      const std::string& ports);

  bool applies(const catalog::Resource& resource) const override;
  Result<Reservation> allocate(json::Value& object, const json::Value* old, bool dry_run) override;
  Result<Claims> claims(const json::Value* old, const json::Value* now) override;

  // Where the ranges of the flags are not those of the cluster; otherwise empty.
  std::string warning();

 private:
  struct StoredRange {
    store::Revision revision = 0;
    std::vector<catalog::ServiceRange> ranges = {};
    bool is_usable = false;  // no address is given away from others
  };

  ServiceNetwork(store::Store& store, const Clock& clock, Random& random,
                 catalog::ServiceAllocator allocator, NodePortRange ports)
      : store_(store),
        clock_(clock),
        random_(random),
        ports_(std::move(ports)),
        configured_(allocator.ranges().ranges),
        allocator_(std::move(allocator)) {}
  Result<void> follow(std::string_view prefix);
  void note(const store::Event& event);
  void note_service(const store::Event& event);
  void note_range(const store::Event& event);
  std::string bytes_of_address(const catalog::Ip& ip, const json::Value& service);
  void note_ports(const store::Event& event);
  Result<void> claim_ports(const json::Value* old, const json::Value* now, Claims& out);

  store::Store& store_;
  const Clock& clock_;
  Random& random_;
  const NodePortRange ports_;                            // by flags; none is given out
  const std::vector<catalog::ServiceRange> configured_;  // by flags
  std::mutex mutex_;
  catalog::ServiceAllocator allocator_;        // guarded by mutex_
  catalog::ServicesInUse in_use_;              // guarded by mutex_
  std::map<std::string, StoredRange> stored_;  // guarded by mutex_; by the name of the ServiceCIDR
  std::vector<std::unique_ptr<store::Watch>> watches_;
};

}  // namespace cardea::rest
