#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "authn/authenticator.h"
#include "authn/jwt/authentication_config.h"
#include "authn/jwt/authentication_validation.h"
#include "authn/jwt/issuer_metrics.h"
#include "authn/jwt/jwt_issuer.h"
#include "base/clock.h"
#include "base/snapshot.h"
#include "base/strings.h"
#include "net/dialer.h"
#include "net/loop.h"

namespace cardea::authn {

// The issuers of one configuration, found by the `iss` of a token before anything is verified,
// so that the number of issuers costs nothing.
class IssuerSet {
 public:
  explicit IssuerSet(std::vector<std::shared_ptr<const JwtIssuer>> issuers);

  const JwtIssuer* find(std::string_view issuer) const;
  // Why the set is not healthy; "" when every issuer has been discovered. Issuers that share
  // their key source with `before` do not count: their state has not become worse.
  std::string health(const IssuerSet* before = nullptr) const;
  const std::vector<std::shared_ptr<const JwtIssuer>>& issuers() const { return issuers_; }
  // Fetches the keys again that are shared with `before`.
  void renew_keys(const IssuerSet& before) const;
  // Makes no further calls to issuers, except for keys that `other` needs too.
  void stop(const IssuerSet* other = nullptr) const;
  std::uint64_t generation() const { return generation_; }  // never the same twice in a process

 private:
  bool shares_keys(const JwtIssuer& issuer) const;  // that of another set

  std::vector<std::shared_ptr<const JwtIssuer>> issuers_;
  std::unordered_map<std::string, const JwtIssuer*, StringHash, std::equal_to<>> by_url_;
  const std::uint64_t generation_;
};

// What issuers are built from. All of it outlives them.
struct IssuerParts {
  net::Loop& loop;  // where issuers are called
  net::Dialer& dialer;
  EgressDialers egress;  // for issuers that name one of these
  const Clock& clock;
  AuthenticationMetrics& metrics;
  std::function<void(const std::string&)> log;  // may be empty
  ValidationContext context;
  AlgorithmSet algorithms = AlgorithmSet::all();
  std::chrono::milliseconds retry{10'000};    // between attempts to discover an issuer
  std::chrono::milliseconds refetch{10'000};  // between fetches of one issuer's keys
  using MakeFetcher = std::function<Result<std::shared_ptr<Fetcher>>(
      const std::string& server_cas)>;
  MakeFetcher make_fetcher = {};  // empty: over the network
};

// Validates and builds. An issuer that `before` reaches in the same way (URL, discovery URL,
// certificate authority) shares its key source: it is not discovered again, and need not be
// reachable. Discovery of the others begins in the background. An error: the configuration is
// not valid, or names an egress selector that does not exist.
Result<std::shared_ptr<const IssuerSet>> build_issuers(const AuthenticationConfig& config,
                                                       const IssuerParts& parts,
                                                       const IssuerSet* before = nullptr);

// Authenticates bearer tokens that configured issuers signed.
//
// Tokens of other issuers, and text that is not a JWT, are left to other authenticators. An
// accepted token is remembered for ten seconds, but neither beyond its expiry nor beyond the
// configuration that accepted it: on its thread, or for all threads if an issuer had to be asked.
class JwtAuthenticators : public Authenticator,
                          public std::enable_shared_from_this<JwtAuthenticators> {
 public:
  // `audiences` are those of this server. `metrics` may be null.
  JwtAuthenticators(std::shared_ptr<const IssuerSet> issuers, std::vector<std::string> audiences,
                    const Clock& clock, AuthenticationMetrics* metrics);
  ~JwtAuthenticators() override;

  std::optional<Outcome> authenticate(const Credentials& credentials) const override;
  Task<Outcome> authenticate_waiting(Credentials credentials) const override;

  // Knows only the remembered tokens of this authenticator. It is asked before authenticators
  // that would have to parse a token to find that it is not theirs.
  std::shared_ptr<const Authenticator> remembered() const;

  // For AuthenticatorChain: says in `texts` why no authenticator knows the token, without what it
  // claims, and counts the reason.
  void note_refusal(std::string_view token, std::vector<std::string>& texts) const;

  // From the next request on, on every thread, only `issuers` count. Keys that they share with
  // the previous ones are fetched again.
  void swap(std::shared_ptr<const IssuerSet> issuers);
  void forget_all() { memory_generation_.fetch_add(1); }  // for measurements
  std::shared_ptr<const IssuerSet> issuers() const { return issuers_.get(); }

 private:
  class Memory;
  class Remembering;
  class Waited;
  // The answer for a token that is remembered; nullopt when it is not.
  std::optional<Outcome> recall(const Credentials& credentials, const IssuerSet& issuers,
                                Time now) const;
  // The same for tokens that another thread had to wait for.
  std::optional<Outcome> recall_waited(const Credentials& credentials, const IssuerSet& issuers,
                                       Time now) const;
  // Waits for the issuer. Requests with the same token at the same time share one wait.
  Task<Result<Identity>> check_once(std::shared_ptr<const IssuerSet> issuers,
                                    const JwtIssuer& issuer, const Jwt& jwt,
                                    std::string_view token) const;
  void count_verified(const JwtIssuer& issuer, bool accepted, std::chrono::nanoseconds took) const;
  Outcome finish(Identity identity, const Credentials& credentials) const;
  bool serves(const Credentials& credentials) const;

  Snapshot<IssuerSet> issuers_;
  const std::vector<std::string> audiences_;
  const Clock& clock_;
  AuthenticationMetrics* const metrics_;
  std::unique_ptr<Memory> memory_;
  std::unique_ptr<Waited> waited_;
  std::atomic<std::uint64_t> memory_generation_{0};  // tokens that another set remembered are
                                                     // dropped
};

}  // namespace cardea::authn
