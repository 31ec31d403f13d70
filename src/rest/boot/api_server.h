#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "admission/plugins.h"
#include "feeds/permission_map_feed.h"
#include "feeds/uncovered_feed.h"
#include "rest/aggregation/aggregator.h"
#include "rest/backups.h"
#include "rest/boot/built_in_authorizers.h"
#include "rest/call.h"
#include "rest/catalog_holder.h"
#include "rest/controllers/controller.h"
#include "rest/conversion/webhook_converter.h"
#include "rest/decision_history.h"
#include "rest/definition_server.h"
#include "rest/fairness/feed.h"
#include "rest/fairness/gate.h"
#include "rest/gateway.h"
#include "rest/guards/access_policy_guard.h"
#include "rest/guards/content_guard.h"
#include "rest/guards/escalation_guard.h"
#include "rest/guards/permission_map_guard.h"
#include "rest/guards/uncovered_set_guard.h"
#include "rest/heavy_lanes.h"
#include "rest/loopback.h"
#include "rest/policy/canonicalizer.h"
#include "rest/policy/guard.h"
#include "rest/policy/policy_store.h"
#include "rest/reviews/condition_seal.h"
#include "rest/streams/open_streams.h"
#include "rest/unreadable_records.h"
#include "rest/write/field_permissions.h"
#include "rest/write/service_network.h"

namespace cardea::rest {

struct Features {
  bool conditional_authorization = true;
  bool fine_grained_authorization = true;
  bool constrained_impersonation = true;
  bool node_conditions = false;  // whether the Node authorizer decides about objects
};

// In what one server differs from another. Everything that is referred to outlives the server.
struct Parts {
  store::Store& store;
  const Clock& clock;
  Random& random;
  Metrics& metrics;
  net::Loop& calls;  // where the server waits for others, such as webhooks
  net::Dialer& dialer;
  const authn::AuthenticatorChain& authenticators;

  // Makes the chain that decides from the authorizers that every server has.
  std::function<Result<std::shared_ptr<const authz::CurrentChain>>(
      const BuiltInAuthorizers::ByType&)>
      make_chain;

  Features features = {};
  NamespacePolicySettings namespace_policy = {};
  std::vector<std::string> enabled_plugins = {}, disabled_plugins = {};  // beside the default ones
  std::vector<std::unique_ptr<admission::Plugin>> more_plugins = {};     // asked after all others
  std::string service_cluster_ip_range = "10.0.0.0/24";
  std::string service_node_port_range = "30000-32767";
  std::string address = "127.0.0.1:6443";  // where clients reach the server
  BuildInfo build = {};
  DebugPages::Flags flags = {};  // of the command line, for /flagz
  bool allow_privileged = false;
  admission::Settings admission = {};
  catalog::Catalog::IsOff is_off = {};           // which built-in resources clients are not served
  std::chrono::milliseconds request_timeout{0};  // 0: none
  std::uint32_t min_request_timeout = 1800;      // of Services
  std::chrono::milliseconds stream_reauthorization_period{10'000};  // 0: never
  std::chrono::milliseconds authorization_staleness{1'000};         // of Services
  std::chrono::milliseconds store_silence{2'000};  // of a shared store, until it is not ready
  fairness::GateOptions fairness = {};             // its timeout is `request_timeout`
  std::size_t request_loops = 2;
  const authn::ServiceAccountTokens* service_account_tokens = nullptr;  // null: none are issued
  std::string secret;                      // of seals on conditions; replicas have the same
  std::string server_id;                   // another one for each process; webhooks are told it
  const bridge::Bridge* bridge = nullptr;  // null: no cluster gets bridged answers
  const Backends* backends = nullptr;      // null: the server connects to no kubelets
  std::optional<AggregationSettings> aggregation = {};    // none: requests are not handed on
  net::Dialer* aggregation_dialer = nullptr;              // null: `dialer`
  net::Dialer* service_dialer = nullptr;                  // of webhooks; null: `dialer`
  const audit::Auditor* auditor = nullptr;                // null: nothing is audited
  TraceSink* traces = nullptr;                            // null: nothing is traced
  std::size_t decision_history = 0;                       // how many decisions are kept
  std::function<void(MetricPrinter&)> more_metrics = {};  // printed after the server's own
  const Log* log = nullptr;                               // null: nothing is logged
};

// An API server without its sockets: `cardea serve` and the tests make the same one. It owns the
// parts that requests use, from the authorizers to the gateway, and serves
// CustomResourceDefinitions from its creation on. boot/bootstrap.h creates the initial objects of a
// cluster, and controllers/controllers.h the controllers.
class ApiServer {
 public:
  // A bad request (an unknown plugin, an invalid range) is an error in `parts`.
  static Result<std::unique_ptr<ApiServer>> make(Parts parts);
  ~ApiServer() {
    stop();
    heavy_lanes_.stop();
    backups_.stop();
  }
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  store::Store& store() { return objects_; }  // roles of namespace policy are objects in it
  CatalogHolder& catalog() { return catalog_; }
  Services& services() { return *services_; }
  Gateway& gateway() { return *gateway_; }
  Aggregator* aggregator() { return aggregator_.get(); }  // null: requests are not handed on
  // A second gateway of the same server, for clients with other authenticators.
  std::unique_ptr<Gateway> another_gateway(const authn::AuthenticatorChain& authenticators);
  net::Loops& loops() { return loops_; }         // where requests of clients are to be served
  net::Loop& chores() { return chores_.at(0); }  // where controllers are to work
  const Loopback& api() const { return *api_; }  // the server's own client
  const std::vector<std::string>& warnings() const { return warnings_; }

  // For checks of other parts. Before the first request of a client.
  Health& health() { return description_.health(); }
  // From then on /readyz and /healthz say no, and requests are served.
  void set_stopping() { running_->lose(); }
  // Ends watches, and no longer follows definitions. From outside the loops; once is enough.
  void stop();

 private:
  explicit ApiServer(const Parts& parts);
  Result<void> load_authorizers(const Parts& parts);
  Result<void> load_admission(Parts& parts);
  Result<void> load_aggregation(const Parts& parts);
  Result<void> load_fairness(const Parts& parts);
  void set_guards();
  void set_services(const Parts& parts);
  void describe(const Parts& parts);
  void watch_over_loops(const Parts& parts);
  void open(const Parts& parts);

  // In the order in which they need each other.
  const Features features_;
  std::vector<std::string> warnings_;
  CatalogHolder catalog_;
  std::unique_ptr<feeds::PermissionMapFeed> permission_maps_;
  std::unique_ptr<feeds::UncoveredFeed> uncovered_;
  std::unique_ptr<BuiltInAuthorizers> built_ins_;
  std::shared_ptr<const authz::CurrentChain> chain_;
  policy::PolicyStore objects_;
  std::unique_ptr<WebhookConverter> conversion_;
  std::unique_ptr<admission::Chain> admission_;
  std::unique_ptr<ServiceNetwork> network_;
  std::unique_ptr<FieldPermissions> field_permissions_;
  std::vector<std::unique_ptr<const WriteGuard>> guards_;
  policy::PolicyCanonicalizer canonicalizer_;
  const ConditionSeal condition_seal_;
  const std::string server_id_;
  std::unique_ptr<DecisionHistory> decisions_;  // null: none are kept
  std::unique_ptr<Services> services_;
  UnreadableRecords unreadable_;
  HeavyLanes heavy_lanes_;
  net::Loops loops_;
  Backups backups_;
  OpenStreams open_streams_;
  std::unique_ptr<fairness::Gate> gate_;
  std::unique_ptr<fairness::RulesFeed> flow_rules_;
  WatchHubs watches_;
  SelfDescription description_;
  Health::Stage* running_ = nullptr;  // of health()
  std::unique_ptr<Gateway> gateway_;
  net::Loops chores_{1};
  std::unique_ptr<Aggregator> aggregator_;
  std::unique_ptr<Loopback> api_;
  std::unique_ptr<DefinitionServer> definitions_;
  bool is_stopped_ = false;
};

}  // namespace cardea::rest
