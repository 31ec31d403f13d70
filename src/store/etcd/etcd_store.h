#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "store/etcd/encoding.h"
#include "store/history.h"

namespace cardea::store {

// Keys that etcd deletes by itself some time after they were last written.
struct EtcdLeased {
  std::string prefix;
  std::chrono::seconds ttl{0};
};

struct EtcdOptions {
  std::vector<std::string> endpoints;  // URLs of members: "https://10.0.0.1:2379"
  std::string prefix = "/registry";    // of all keys
  std::string server_cas = {};         // PEM; empty: the system's
  std::string certificate = {};        // ours, PEM; may be empty
  std::string key = {};
  std::vector<std::string> marked = {};  // prefixes of keys: see Store::marked_revision
  // Of these the ones that others change too, who do not write the mark. etcd looks at each of
  // their keys with every transaction that compares the mark: they should be few.
  std::vector<std::string> guarded = {};
  std::vector<EtcdLeased> leased = {};
  HistoryOptions history = {};
  // One of all servers compacts etcd so often; 0: none does.
  std::chrono::milliseconds compaction_interval{300'000};
  // Reads are confirmed to be fresh at least this often, also when nobody asks.
  std::chrono::milliseconds confirm_interval{300};
  std::chrono::milliseconds call_timeout{10'000};     // of one call to etcd
  std::chrono::milliseconds start_timeout{60'000};    // until everything is loaded
  const Clock* clock = nullptr;                       // must outlive the store; null: the system's
  std::shared_ptr<const EtcdEncoding> encoding = {};  // null: values lie there as they are here
  std::function<void(const std::string&)> notice = {};  // what people should know, line by line
  // Told during the first load how many records are there; the other number is 0. May be empty.
  std::function<void(std::uint64_t done, std::uint64_t all)> progress = {};
};

// A store that several servers share: etcd keeps it, and each server holds all live records in
// memory. Reads come from memory. A write is one etcd transaction, and is answered when the watch
// has brought it back. docs/STORE.md says what it promises.
//
// Everything that waits for etcd happens on one thread of the store's own, which runs the callbacks
// and sinks too.
Result<std::unique_ptr<Store>> open_etcd_store(EtcdOptions options);

}  // namespace cardea::store
