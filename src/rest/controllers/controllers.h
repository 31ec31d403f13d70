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

// Which of them a value of --controllers names: `*` stands for all, `-name` leaves one out, a name
// puts one in; names win over `*`. An unknown name is an error.
Result<std::vector<std::string>> select_controllers(const std::vector<std::string>& wanted);
std::vector<std::string> known_controllers();

// The ones that were chosen, started and stopped together.
class Controllers {
 public:
  // `names` as select_controllers gives them. Events live for `event_ttl`.
  Controllers(const ControllerContext& context, const std::vector<std::string>& names,
              const std::string& ca, std::chrono::nanoseconds event_ttl = std::chrono::hours(1));
  ~Controllers() { stop(); }

  // Both from outside the loop.
  Result<void> start();
  void stop();

 private:
  std::vector<std::unique_ptr<Controller>> controllers_;
};

}  // namespace cardea::rest
