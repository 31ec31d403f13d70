#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "app/audit_options.h"
#include "app/authentication_options.h"
#include "app/backend_options.h"
#include "app/bridge_options.h"
#include "app/feature_gates.h"
#include "app/serving_options.h"
#include "app/storage_options.h"
#include "base/log.h"

namespace cardea::app {

// The description of the authorizer chain: a file, or --authorization-mode and these flags of
// its webhook.
struct AuthorizationOptions {
  std::string config_file;
  std::string webhook_config_file;
  std::string webhook_version = "v1beta1";  // same default as kube-apiserver
  std::chrono::nanoseconds webhook_authorized_ttl = std::chrono::minutes(5);
  std::chrono::nanoseconds webhook_unauthorized_ttl = std::chrono::seconds(30);
};

// The flags of `cardea serve`. Where kube-apiserver has the same flag, the name is the same.
struct ServeOptions {
  std::string data_dir = "data";
  std::string bind_address = "127.0.0.1";
  std::uint16_t secure_port = 6443;
  std::string tls_cert_file, tls_private_key_file, client_ca_file;
  ServingOptions serving;
  StorageOptions storage;
  BackendOptions backends;
  BridgeOptions bridge;
  std::string token_auth_file;
  AuthenticationOptions authentication;
  std::vector<std::string> authorization_modes = {"Node", "Access", "Policy", "RBAC"};
  AuthorizationOptions authorization;
  std::string policy_master_namespace = "master";
  AuditOptions audit;
  std::string policy_config_file;
  bool reset_bootstrap_policy = false;
  std::vector<std::string> enable_admission_plugins, disable_admission_plugins;
  std::string admission_config_file;
  std::string egress_selector_config_file;
  std::string tracing_config_file;
  std::int64_t not_ready_toleration_seconds = 300, unreachable_toleration_seconds = 300;
  std::vector<std::string> runtime_config;
  std::vector<std::string> controllers;          // the names of those that run
  std::vector<std::string> lasting_controllers;  // of these: beside a kube-controller-manager too
  FeatureGates gates;
  std::string service_cluster_ip_range = "10.0.0.0/24";
  std::string service_node_port_range = "30000-32767";
  std::chrono::nanoseconds event_ttl = std::chrono::hours(1);
  bool allow_privileged = false;
  bool dra_admin_access_policy = false;
  bool anonymous_auth = true;
  bool ui = false;  // whether the page under /ui/ is served
  std::vector<std::string> ui_oidc_clients, ui_oidc_scopes;  // of the page, at issuers
  std::uint32_t decision_history = 1000;  // decisions to be kept, of those that allow and of others
  int verbosity = 0;
  LogFormat log_format = LogFormat::kText;
  std::uint32_t http2_max_streams_per_connection = 100;
  std::uint16_t insecure_bench_port = 0;  // plain HTTP on loopback, for benchmarks only
  std::vector<std::pair<std::string, std::string>> flags;  // all that were declared, with values
  std::vector<std::string> warnings;  // flags that are accepted but have no effect
};

// The options, or the exit status when there is nothing to run: 0 after help was printed, 2
// after one line about wrong or contradictory flags.
std::variant<ServeOptions, int> parse_serve_options(int argc, char** argv);

}  // namespace cardea::app
