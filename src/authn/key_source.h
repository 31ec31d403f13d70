#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "authn/fetch.h"
#include "authn/jwks.h"
#include "base/clock.h"
#include "base/task.h"
#include "net/loop.h"

namespace cardea::authn {

class IssuerMetrics;

// Where the keys of one issuer come from. From any thread.
class KeySource {
 public:
  virtual ~KeySource() = default;

  // "" when discovery has succeeded; else why not, in Kubernetes' words.
  virtual std::string health() const = 0;
  // The last good keys, or null when none have been fetched yet. Costs an atomic load while nothing changes.
  virtual std::shared_ptr<const KeySet> keys() const = 0;
  // Whether waiting for refresh() can bring other keys: a fetch is under way or may be made now.
  virtual bool may_refresh() const = 0;
  // Fetches the keys, or waits for the fetch that is under way; an error when it failed or may not be made yet. On an error the
  // keys stay what they were. Continues on the source's loop.
  virtual Task<Result<void>> refresh() = 0;
  // Waits until discovery has succeeded or was tried in vain once more.
  virtual Task<Result<void>> ready() = 0;
  // Asks nobody any more, and tells those who wait. What is stopped may outlive the loop, in some thread's reference to a
  // configuration of the past; keys that are there stay.
  virtual void stop() {}
};

// Keys that are given and never change.
std::shared_ptr<KeySource> fixed_keys(std::shared_ptr<const KeySet> keys);

struct DiscoveryOptions {
  std::string issuer;         // what the discovery document must say it is
  std::string discovery_url;  // "": the issuer's well-known one
  std::chrono::milliseconds retry{10'000};     // between attempts to discover
  std::chrono::milliseconds refetch{10'000};   // at most one fetch of the keys in this time
  std::shared_ptr<IssuerMetrics> metrics;      // may be null
  std::function<void(const std::string&)> log;  // may be empty
};

// Keys found by OpenID Connect Discovery.
//
// Discovery starts at once, in the background, and is repeated until it succeeds, so an issuer that is offline delays nobody. The
// keys are fetched when the first token needs them; a token with an unknown key, or a signature that fails, fetches them again, at
// most once per `refetch`. An outage leaves the last good ones in place. The loop and the clock outlive it.
std::shared_ptr<KeySource> discovered_keys(net::Loop& loop, std::shared_ptr<Fetcher> fetcher, const Clock& clock, DiscoveryOptions options);

}  // namespace cardea::authn
