#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "authz/request_info.h"
#include "base/snapshot.h"
#include "catalog/catalog.h"
#include "http/client.h"
#include "rest/aggregation/documents.h"
#include "rest/streams/address_rules.h"
#include "store/store.h"

namespace cardea::rest {

// How this server calls those behind it.
struct AggregationSettings {
  std::string client_certificate, client_key;  // PEM: what it shows to them; may be empty
  bool by_endpoints = false;                   // `--enable-aggregator-routing`
  bool refuses_redirects = true;               // `--aggregator-reject-forwarding-redirect`
  std::chrono::milliseconds connect_timeout{30'000};
  AddressRules addresses = {};
};

// The connections to the server of one APIService: for each loop those that requests share, and the
// settings of those that an upgrade needs for itself. Shared by the requests that use it.
class Wires {
 public:
  // The error is about certificates. The loops and the dialer outlive it.
  static Result<std::shared_ptr<Wires>> make(const ApiService& service,
                                             const AggregationSettings& settings,
                                             const std::vector<net::Loop*>& loops,
                                             net::Dialer& dialer);

  http::Client& client(const net::Loop& loop) const;  // of one of the loops
  const std::shared_ptr<const net::TlsClient>& for_upgrades() const { return for_upgrades_; }
  // Lets go of the loops, when no request is served any more: a thread may keep the table that it
  // has read last for longer than they live.
  void close() const { clients_.clear(); }

 private:
  std::shared_ptr<const net::TlsClient> for_upgrades_;
  mutable std::vector<std::pair<const net::Loop*, std::unique_ptr<http::Client>>> clients_;
};

// A version of a group that another server serves, as requests need it. Immutable.
struct Remote {
  ApiService service;
  std::shared_ptr<const Wires> wires;  // null: `broken` says why
  std::string broken;
  std::vector<Target> targets;  // empty: there is no way to it now
  bool is_available = false;
};

// Which versions of which groups other servers serve, as APIServices say, and how to reach them.
//
// Reading costs one atomic load. The controller of APIServices (rest/controllers) changes it, on
// its loop, and finds out whether the servers are there. The built-in versions of this server are
// never handed on: an APIService cannot take, say, the reviews of permissions elsewhere.
class Aggregator {
 public:
  // What every thread reads.
  struct Table {
    // By "GROUP/VERSION".
    std::map<std::string, std::shared_ptr<const Remote>, std::less<>> remotes;
    std::vector<Described> all;    // APIServices, for discovery
    std::uint64_t generation = 0;  // of what discovery shows; 0: nothing is aggregated
  };

  // `loops`: where requests are served; `chores`: where the controllers work. All outlive it.
  Aggregator(AggregationSettings settings, std::vector<net::Loop*> loops, net::Loop& chores,
             net::Dialer& dialer);
  ~Aggregator();

  const AggregationSettings& settings() const { return settings_; }
  net::Dialer& dialer() const { return dialer_; }
  net::Loop& chores() const { return chores_; }

  // The server of this version; null: it is ours, or nobody's.
  std::shared_ptr<const Remote> find(std::string_view group, std::string_view version) const;
  // The same for a request: for objects of such a version, its discovery, or its OpenAPI v3.
  std::shared_ptr<const Remote> find(const authz::RequestInfo& info) const;
  std::shared_ptr<const Table> table() const { return table_.get(); }

  // What follows is for one thread at a time: that of the start, then that of the controller.

  // Knows all that is stored, so that a request for them is not taken for one to nobody.
  Result<void> load(const store::Store& store, const catalog::Catalog& catalog);
  // An APIService is there, or was changed. The ways to its server are forgotten when they changed.
  void set(ApiService service, const catalog::Catalog& catalog);
  void erase(const std::string& name);
  // What a check has found out.
  void found(const std::string& name, std::vector<Target> targets, bool is_available,
             BackendDocuments documents);

  // For checks: the settings of an APIService as they are now; null: it names no service.
  std::shared_ptr<const Remote> remote_named(const std::string& name) const;
  const BackendDocuments* documents_of(const std::string& name) const;

 private:
  struct Entry {
    Described described;
    std::shared_ptr<const Remote> remote;  // null: local
  };
  void publish();

  const AggregationSettings settings_;
  const std::vector<net::Loop*> loops_;
  net::Loop& chores_;
  net::Dialer& dialer_;
  std::map<std::string, Entry> entries_;           // by the name of the APIService
  std::vector<std::weak_ptr<const Wires>> wires_;  // all that may live
  std::uint64_t generation_ = 0;
  Snapshot<Table> table_{std::make_shared<const Table>()};
};

// Whether this server has a built-in resource of that version.
bool is_built_in(const catalog::Catalog& catalog, std::string_view group, std::string_view version);

inline constexpr std::string_view
    kApiServicePrefix = "/registry/apiregistration.k8s.io/apiservices/";

}  // namespace cardea::rest
