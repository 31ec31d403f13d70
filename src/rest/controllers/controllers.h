#pragma once
#include <memory>
#include <string>
#include <vector>

#include "rest/controllers/controller.h"

namespace cardea::rest {

// The settings of authentication that other servers need: CAs and headers, by their keys.
using AuthenticationFacts = std::vector<std::pair<std::string, std::string>>;

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

// Not a controller of the controller manager: it checks the servers that APIServices name, sets
// their status, and tells the aggregator. Always on.
std::unique_ptr<Controller> api_service_availability(ControllerContext context);

// The status of access policies. Not part of kube-controller-manager either. Always on.
std::unique_ptr<Controller> access_policy_status(ControllerContext context);

// Keeps the policy of --dra-admin-access-policy. On when that is.
std::unique_ptr<Controller> dra_admin_policy_keeper(ControllerContext context);

// The FlowSchemas and PriorityLevelConfigurations of the server, and the status of all FlowSchemas.
// kube-apiserver does this itself. Always on.
std::unique_ptr<Controller> flow_control_config(ControllerContext context);

// Deletes Events some time after they were last written. In a cluster on etcd, etcd does this.
// Always on.
std::unique_ptr<Controller> event_expiry(ControllerContext context, std::chrono::nanoseconds ttl);

// Makes and deletes the APIServices of groups that CustomResourceDefinitions serve. Always on.
std::unique_ptr<Controller> local_api_services(ControllerContext context);

// Keeps the ConfigMap `kube-system/extension-apiserver-authentication`, from which servers behind
// this one learn whom to believe. Always on.
std::unique_ptr<Controller> authentication_publisher(ControllerContext context,
                                                     AuthenticationFacts facts);

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

// Of several servers on one store: says that this one lives, and keeps the Endpoints and the
// EndpointSlice `default/kubernetes` at exactly those that do. The store forgets a key below
// kLiveServers when it is not written again for kServerTerm.
inline constexpr std::string_view kLiveServers = "/registry/masterleases/";
inline constexpr std::chrono::seconds kServerTerm{15};
std::unique_ptr<Controller> server_endpoints(ControllerContext context, std::string address,
                                             std::uint16_t port);

// Lets `own` step aside while a kube-controller-manager works outside: while somebody holds the
// Lease `kube-system/kube-controller-manager` and renews it in time. `own` must outlive it, and be
// started after it.
std::unique_ptr<Controller> outside_manager(ControllerContext context,
                                            std::vector<Controller*> own);

// Lets `own` step aside unless this server holds the Lease `kube-system/cardea-controllers`: of
// several servers on one store, one runs them. `own` must outlive it, and be started after it.
// `holder` names this process.
std::unique_ptr<Controller> elected(ControllerContext context, std::vector<Controller*> own,
                                    std::string holder);

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
    std::chrono::nanoseconds event_ttl = std::chrono::hours(1);  // 0: the store deletes Events
    ServerIdentity identity = {};                                // without a name there is no lease
    AuthenticationFacts authentication = {};  // for authentication_publisher; empty: none
    bool keeps_dra_admin_policy = false;
    bool is_elected = false;   // other servers on the same store run them too
    std::string address = {};  // of this server, for server_endpoints; empty: none
    std::uint16_t port = 0;
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
