#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "authn/jwt/fetch.h"
#include "authn/jwt/jwks.h"
#include "authn/jwt/token_checks.h"
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
  // The last good keys; null when none have been fetched yet, or only so long ago that they do not
  // count at `now`. Costs a few atomic loads while nothing changes. Keys that are due for it are
  // fetched again in the background.
  virtual std::shared_ptr<const KeySet> keys(Time now) = 0;
  // Whether waiting for refresh() can bring other keys: a fetch is under way or may be made now.
  virtual bool may_refresh() const = 0;
  // Fetches the keys, or waits for the fetch that is under way; an error when it failed or may not
  // be made yet. On an error the keys stay what they were. Continues on the source's loop.
  virtual Task<Result<void>> refresh() = 0;
  // Waits until discovery has succeeded or was tried in vain once more.
  virtual Task<Result<void>> ready() = 0;

  // The issuer is asked again where its keys are and what they are: some may have been withdrawn.
  // Until it has answered, or has failed to, the keys are not current, and nobody should be let in
  // by them; wait with current(), which continues on the source's loop.
  virtual void renew() {}
  virtual bool is_current() const { return true; }
  virtual Task<Result<void>> current() { co_return Result<void>(); }

  // Asks nobody any more, and tells those who wait. What is stopped may outlive the loop, in some
  // thread's reference to a configuration of the past; keys that are there stay.
  virtual void stop() {}
};

// Keys that are given and never change.
std::shared_ptr<KeySource> fixed_keys(std::shared_ptr<const KeySet> keys);

struct DiscoveryOptions {
  std::string issuer;                           // what the discovery document must say it is
  std::string discovery_url;                    // "": the issuer's well-known one
  std::chrono::milliseconds retry{10'000};      // between attempts to discover
  std::chrono::milliseconds refetch{10'000};    // at most one fetch of the keys in this time
  std::shared_ptr<IssuerMetrics> metrics;       // may be null
  std::function<void(const std::string&)> log;  // may be empty
  // Keys are fetched again in the background when the issuer's cache headers say so, not sooner
  // than after a minute and not later than after `refresh`. Those older than `max_age` count no
  // longer.
  std::chrono::milliseconds refresh = std::chrono::hours(1);
  std::chrono::milliseconds max_age = std::chrono::hours(24);
};

// Keys found by OpenID Connect Discovery.
//
// Discovery starts at once, in the background, and is repeated until it succeeds, so an issuer that
// is offline delays nobody. The keys are fetched when the first token needs them; a token with an
// unknown key, or a signature that fails, fetches them again, at most once per `refetch`. Keys that
// are there are fetched again by their age. An outage leaves the last good ones in place until they
// are too old. The loop and the clock outlive it.
std::shared_ptr<KeySource> discovered_keys(net::Loop& loop, std::shared_ptr<Fetcher> fetcher,
                                           const Clock& clock, DiscoveryOptions options);

}  // namespace cardea::authn
