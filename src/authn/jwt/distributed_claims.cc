#include "authn/jwt/distributed_claims.h"

#include "base/strings.h"

namespace cardea::authn {
namespace {

constexpr std::size_t kMaxIssuers = 64;

std::unexpected<Error> refuse(std::string message) {
  return fail(Error::of(Reason::kUnauthorized, std::move(message)));
}

}  // namespace

std::optional<ClaimSource> claim_source(const json::Value& claims, const std::string& claim) {
  if (claim.empty() || claims.has(claim)) return std::nullopt;
  const json::Value& name = claims["_claim_names"][claim];
  if (!name.is_string()) return std::nullopt;
  const json::Value& source = claims["_claim_sources"][name.as_string()];
  if (source["endpoint"].as_string().empty())
    return std::nullopt;  // aggregated claims are not supported
  return ClaimSource{claim, std::string(source["endpoint"].as_string()),
                     std::string(source["access_token"].as_string())};
}

std::shared_ptr<KeySource> DistributedClaims::keys_of(const std::string& issuer) {
  std::lock_guard lock(mutex_);
  auto found = issuers_.find(issuer);
  if (found != issuers_.end()) return found->second;
  if (issuers_.size() >= kMaxIssuers || !fetcher_) return nullptr;
  DiscoveryOptions options;
  options.issuer = issuer;
  return issuers_[issuer] = discovered_keys(loop_, fetcher_, clock_, std::move(options));
}

std::shared_ptr<Fetcher> DistributedClaims::fetcher() {
  std::lock_guard lock(mutex_);
  return fetcher_;
}

void DistributedClaims::stop() {
  std::lock_guard lock(mutex_);
  for (auto& [url, keys] : issuers_) keys->stop();
  fetcher_.reset();
}

Task<Result<json::Value>> DistributedClaims::resolve(ClaimSource source,
                                                     TokenExpectations expected) {
  auto with = fetcher();
  if (!with) co_return refuse("stopped");
  auto start = [fetcher = std::move(with), source](auto done) {
    fetcher->get(source.endpoint, source.access_token, std::move(done));
  };
  Result<http::Answer> answer = co_await await_callback<Result<http::Answer>>(std::move(start));
  if (!answer)
    co_return refuse(cat("while getting distributed claim ", cardea::quoted(source.claim), ": Get ",
                         cardea::quoted(source.endpoint), ": ", answer.error().message));
  if (answer->status < 200 || answer->status > 226)
    co_return refuse(cat("error while getting distributed claim JWT: ", answer->status, " ",
                         http::status_text(answer->status)));
  const std::string token(trim(answer->body));
  auto jwt = parse_jwt(token);
  if (!jwt)
    co_return refuse(cat("could not decode distributed claim token: ", jwt.error().message));

  const std::string issuer(jwt->issuer());
  auto keys = keys_of(issuer);
  if (!keys)
    co_return refuse(cat("verifying untrusted issuer ", issuer,
                         " failed: too many issuers of distributed claims"));
  if (!keys->health().empty()) {
    Result<void> ready = co_await keys->ready();
    if (!ready)
      co_return refuse(
          cat("verifying untrusted issuer ", issuer,
              " failed: verifier not initialized for issuer: ", cardea::quoted(issuer)));
  }
  expected.issuer = issuer;
  auto algorithm = check_token(*jwt, expected, clock_.now());
  if (!algorithm)
    co_return refuse(cat("verify distributed claim token: ", algorithm.error().message));
  auto verified = [&] {
    auto set = keys->keys(clock_.now());
    return set && set->verifier_of(*jwt, *algorithm);
  };
  bool valid = verified();
  if (!valid && keys->may_refresh()) {
    Result<void> fetched = co_await keys->refresh();
    if (!fetched)
      co_return refuse(
          cat("verify distributed claim token: failed to verify signature: fetching keys ",
              fetched.error().message));
    valid = verified();
  }
  if (!valid)
    co_return refuse(
        "verify distributed claim token: failed to verify signature: failed to verify id token "
        "signature");
  const json::Value* value = jwt->claims.find(source.claim);
  if (!value)
    co_return refuse(cat("jwt returned by distributed claim endpoint ",
                         cardea::quoted(source.endpoint),
                         " did not contain claim: ", source.claim));
  co_return *value;
}

}  // namespace cardea::authn
