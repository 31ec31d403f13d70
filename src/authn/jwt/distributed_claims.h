#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "authn/jwt/key_source.h"
#include "authn/jwt/token_checks.h"
#include "base/clock.h"
#include "base/task.h"
#include "json/value.h"

namespace cardea::authn {

// The endpoint of a distributed claim (OpenID Connect Core, section 5.6.2).
struct ClaimSource {
  std::string claim;
  std::string endpoint;
  std::string access_token;
};

// The source of `claim` in verified claims, when the claim itself is absent and its source has an
// endpoint.
std::optional<ClaimSource> claim_source(const json::Value& claims, const std::string& claim);

// Fetches distributed claims. They come as tokens of any issuer that the endpoint chooses; its
// keys are found by discovery with the same certificate authorities. Audiences, algorithms and
// lifetime must meet the requirements of the first token. From any thread.
class DistributedClaims {
 public:
  DistributedClaims(net::Loop& loop, std::shared_ptr<Fetcher> fetcher, const Clock& clock)
      : loop_(loop), fetcher_(std::move(fetcher)), clock_(clock) {}

  // The value of the claim. Continues on the loop. `expected` are the requirements of the first
  // token.
  Task<Result<json::Value>> resolve(ClaimSource source, TokenExpectations expected);

  // Makes no further calls. A stopped object may outlive the loop.
  void stop();

 private:
  std::shared_ptr<KeySource> keys_of(const std::string& issuer);  // null when there are too many
                                                                  // issuers already, or stopped
  std::shared_ptr<Fetcher> fetcher();

  net::Loop& loop_;
  std::shared_ptr<Fetcher> fetcher_;  // guarded by mutex_; null when stopped
  const Clock& clock_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<KeySource>> issuers_;  // guarded by mutex_
};

}  // namespace cardea::authn
