#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/etcd/etcd_store.h"
#include "store/sqlite/sqlite_store.h"
#include "store/testing/fixtures.h"
#include "store/testing/memory_store.h"
#include "store/testing/real_etcd.h"

namespace cardea::store {

// One of the engines, with a place of its own to store: what every engine promises is tested with
// each of them. etcd is tested where it is installed.
class Engine {
 public:
  static std::vector<std::string> names() {
    std::vector<std::string> names{"memory", "sqlite"};
    if (RealEtcd::is_installed()) names.push_back("etcd");
    return names;
  }

  explicit Engine(std::string name) : name_(std::move(name)) {}

  // A memory store is new each time; the others find what they stored before.
  Result<std::unique_ptr<Store>> open(const HistoryOptions& history, const Clock& clock) {
    if (name_ == "memory") return make_memory_store(clock, history);
    if (name_ == "sqlite") return open_sqlite_store({directory_.path(), history, "", &clock});
    // The suite stores more at once than etcd usually takes.
    if (!etcd_)
      etcd_.emplace(
          std::vector<std::string>{"--max-request-bytes=10485760", "--max-txn-ops=20000"});
    return open_etcd_store({.endpoints = {etcd_->endpoint()}, .history = history, .clock = &clock});
  }

 private:
  const std::string name_;
  TemporaryDirectory directory_;
  std::optional<RealEtcd> etcd_;
};

}  // namespace cardea::store
