#pragma once
#include <chrono>
#include <string>

#include "base/result.h"

namespace CLI {
class App;
}

namespace cardea::app {

// How events get to one place. Each field is the flag of that name, after --audit-log- or
// --audit-webhook-.
struct AuditBackendOptions {
  std::string mode = "batch";
  std::string version = "audit.k8s.io/v1";
  int batch_buffer_size = 10'000;
  int batch_max_size = 400;
  std::string batch_max_wait_text = "0s";
  std::chrono::nanoseconds batch_max_wait{0};
  bool batch_throttle_enable = false;
  double batch_throttle_qps = 10;
  int batch_throttle_burst = 15;
  bool truncate_enabled = false;
  long truncate_max_event_size = 102'400;
  long truncate_max_batch_size = 10'485'760;
};

// The flags of `cardea serve` for the audit log.
struct AuditOptions {
  std::string policy_file;
  std::string log_path, log_format = "json";
  int log_maxage = 366, log_maxbackup = 100, log_maxsize = 100;
  bool log_compress = false;
  AuditBackendOptions log;
  std::string webhook_config_file;
  std::string webhook_initial_backoff_text = "10s";
  std::chrono::nanoseconds webhook_initial_backoff{0};
  AuditBackendOptions webhook{.batch_max_wait_text = "30s", .batch_throttle_enable = true};

  bool is_on() const {
    return !policy_file.empty() && (!log_path.empty() || !webhook_config_file.empty());
  }
  // Flags that were given but have no effect; "" when there are none.
  std::string warning() const;
};

void declare_audit(CLI::App& app, AuditOptions& options);
// Fills in derived values. An error names the flag with the wrong value.
Result<void> complete_audit(AuditOptions& options);

}  // namespace cardea::app
