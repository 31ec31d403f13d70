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
  // The last good keys; null when none have been fetched yet, or when they are too old at `now`.
  // Costs a few atomic loads while nothing changes. Keys that are due are fetched again in the
  // background.
  virtual std::shared_ptr<const KeySet> keys(Time now) = 0;
  // Whether waiting for refresh() can bring other keys: a fetch is running or may be started now.
  virtual bool may_refresh() const = 0;
  // Fetches the keys, or waits for the running fetch; an error when the fetch failed or may not
  // be started yet. After an error the keys stay unchanged. Continues on the source's loop.
  virtual Task<Result<void>> refresh() = 0;
  // Waits until discovery has succeeded, or has failed once more.
  virtual Task<Result<void>> ready() = 0;

  // Asks the issuer again for the location of its keys and for the keys: some may have been
  // withdrawn. Until the issuer has answered, or the call has failed, the keys are not current
  // and must not authenticate users; wait with current(), which continues on the source's loop.
  virtual void renew() {}
  virtual bool is_current() const { return true; }
  virtual Task<Result<void>> current() { co_return Result<void>(); }

  // Makes no further calls, and notifies all waiting callers. A stopped object may outlive the
  // loop, because a thread may still refer to an old configuration; the fetched keys stay.
  virtual void stop() {}
};

// Keys that are given and never change.
std::shared_ptr<KeySource> fixed_keys(std::shared_ptr<const KeySet> keys);

struct DiscoveryOptions {
  std::string issuer;                           // what the discovery document must say it is
  std::string discovery_url;                    // "": the issuer's well-known one
  std::chrono::milliseconds retry{10'000};      // between attempts to discover
  std::chrono::milliseconds refetch{10'000};    // on average one fetch of the keys in this time
  std::shared_ptr<IssuerMetrics> metrics;       // may be null
  std::function<void(const std::string&)> log;  // may be empty
  // Keys are fetched again in the background when the issuer's cache headers say so, at the
  // earliest after a minute and at the latest after `refresh`. Keys older than `max_age` are not
  // used.
  std::chrono::milliseconds refresh = std::chrono::hours(1);
  std::chrono::milliseconds max_age = std::chrono::hours(24);
};

// Keys found by OpenID Connect Discovery.
//
// Discovery starts at once, in the background, and is repeated until it succeeds, so an issuer
// that is offline delays no request. The keys are fetched when the first token needs them. A
// token with an unknown key, or a signature that fails, fetches them again: three times in a row,
// and on average once per `refetch`. Fetched keys are also renewed by their age. During an outage
// the last good keys stay in use until they are too old. The loop and the clock must outlive it.
std::shared_ptr<KeySource> discovered_keys(net::Loop& loop, std::shared_ptr<Fetcher> fetcher,
                                           const Clock& clock, DiscoveryOptions options);

}  // namespace cardea::authn
