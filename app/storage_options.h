#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
}

namespace cardea::app {

// Where `cardea serve` keeps objects. The names and meanings are kube-apiserver's.
struct StorageOptions {
  std::vector<std::string> etcd_servers;  // empty: the store of --data-dir
  std::string etcd_prefix;
  std::string etcd_ca_file, etcd_certificate_file, etcd_key_file;
  std::string encryption_config;  // a file; empty: nothing is encrypted
  bool reloads_encryption = false;
  std::chrono::milliseconds etcd_compaction_interval{300'000};  // 0: never
  std::chrono::milliseconds etcd_health_timeout{2'000};
  // Beyond this age nothing that was read from etcd is a ground for allowing anything.
  std::chrono::milliseconds authorization_staleness{1'000};

  bool is_etcd() const { return !etcd_servers.empty(); }
};

// The flags as they stand on the command line. Outlives the reading of the line.
struct StorageFlags {
  std::vector<std::string> servers;
  std::string prefix = "/registry", ca_file, certificate_file, key_file, encryption,
              compaction = "5m0s", health = "2s", staleness = "1s";
  bool reloads_encryption = false;
};

void declare_storage(CLI::App& app, StorageFlags& flags);
Result<StorageOptions> read_storage(const StorageFlags& flags);

}  // namespace cardea::app
