#pragma once
#include <memory>
#include <string>
#include <vector>

#include "rest/controllers/controller.h"

namespace cardea::rest {

// The controllers of this server, with the names of kube-controller-manager, so that a cluster
// works without it. One file each.
std::unique_ptr<Controller> namespace_controller(ControllerContext context);
std::unique_ptr<Controller> garbage_collector(ControllerContext context);
std::unique_ptr<Controller> cluster_role_aggregation(ControllerContext context);
std::unique_ptr<Controller> resource_quota_controller(ControllerContext context);
std::unique_ptr<Controller> service_account_controller(ControllerContext context);
std::unique_ptr<Controller> admission_policy_status(ControllerContext context);
std::unique_ptr<Controller> service_cidr_controller(ControllerContext context);
// `ca` is PEM: what a client needs to trust this server's certificate.
std::unique_ptr<Controller> root_ca_publisher(ControllerContext context, std::string ca);

// Not a controller of the controller manager: it sets the status of APIServices that name a
// service. Nothing is aggregated, so they are not available. Always on.
std::unique_ptr<Controller> api_service_availability(ControllerContext context);

// The status of access policies. Not part of kube-controller-manager either. Always on.
std::unique_ptr<Controller> access_policy_status(ControllerContext context);

// Deletes Events some time after they were last written. In a cluster on etcd, etcd does this.
// Always on.
std::unique_ptr<Controller> event_expiry(ControllerContext context, std::chrono::nanoseconds ttl);

// Makes and deletes the APIServices of groups that CustomResourceDefinitions serve. Always on.
std::unique_ptr<Controller> local_api_services(ControllerContext context);

// Restores IPAddresses of services that are missing, and deletes those of no service. Always on.
std::unique_ptr<Controller> address_repair(ControllerContext context);

// How a server is told from others on the same store.
struct ServerIdentity {
  std::string name;    // "apiserver-..."; the same after a restart on this machine
  std::string holder;  // of this process
  std::string host_name;
  std::string address;  // where other servers reach it; empty: nowhere
};
// Renews the Lease of this server, and deletes those of servers that are gone.
std::unique_ptr<Controller> identity_lease(ControllerContext context, ServerIdentity identity);

// Lets `own` step aside while a kube-controller-manager works outside: while somebody holds the
// Lease `kube-system/kube-controller-manager` and renews it in time. `own` must outlive it, and be
// started after it.
std::unique_ptr<Controller> outside_manager(ControllerContext context,
                                            std::vector<Controller*> own);

// Which of them a value of --controllers names: `*` stands for all, `-name` leaves one out, a name
// puts one in; names win over `*`. An unknown name is an error.
Result<std::vector<std::string>> select_controllers(const std::vector<std::string>& wanted);
std::vector<std::string> known_controllers();
// Those that the value names itself, not by `*`.
std::vector<std::string> named_controllers(const std::vector<std::string>& wanted);

// The ones that were chosen, started and stopped together.
class Controllers {
 public:
  struct Settings {
    std::vector<std::string> names;         // as select_controllers gives them
    std::vector<std::string> lasting = {};  // of these: work beside a kube-controller-manager too
    std::string ca;                         // for root_ca_publisher
    std::chrono::nanoseconds event_ttl = std::chrono::hours(1);
    ServerIdentity identity = {};  // without a name there is no lease
  };
  Controllers(const ControllerContext& context, Settings settings);
  ~Controllers() { stop(); }

  // Both from outside the loop.
  Result<void> start();
  void stop();

 private:
  std::vector<std::unique_ptr<Controller>> controllers_;
};

}  // namespace cardea::rest
