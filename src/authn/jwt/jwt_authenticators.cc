#include "authn/jwt/jwt_authenticators.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>

#include "authn/jwt/token_memory.h"

namespace cardea::authn {
namespace {

using namespace std::chrono_literals;
constexpr auto kRemembered = 10s;

std::uint64_t next_generation() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

Outcome not_mine() {
  return std::optional<Identity>();
}

// Where the keys of the same issuer, found the same way, came from before; null when it is new or
// is to be found elsewhere.
std::shared_ptr<KeySource> keys_before(const IssuerSet* before, const IssuerConfig& config) {
  const JwtIssuer* issuer = before ? before->find(config.url) : nullptr;
  if (!issuer) return nullptr;
  const IssuerConfig& old = issuer->config().issuer;
  if (old.url != config.url || old.discovery_url != config.discovery_url ||
      old.certificate_authority != config.certificate_authority ||
      old.egress_selector_type != config.egress_selector_type)
    return nullptr;
  return issuer->keys();
}

}  // namespace

IssuerSet::IssuerSet(std::vector<std::shared_ptr<const JwtIssuer>> issuers)
    : issuers_(std::move(issuers)), generation_(next_generation()) {
  for (const auto& issuer : issuers_) {
    by_url_[issuer->config().issuer.url] = issuer.get();
    if (issuer->config().issuer.url == "https://accounts.google.com")
      by_url_["accounts.google.com"] = issuer.get();
  }
}

const JwtIssuer* IssuerSet::find(std::string_view issuer) const {
  auto found = by_url_.find(issuer);
  return found == by_url_.end() ? nullptr : found->second;
}

bool IssuerSet::shares_keys(const JwtIssuer& issuer) const {
  const JwtIssuer* own = find(issuer.config().issuer.url);
  return own && own->keys() == issuer.keys();
}

void IssuerSet::renew_keys(const IssuerSet& before) const {
  for (const auto& issuer : issuers_)
    if (before.shares_keys(*issuer)) issuer->keys()->renew();
}

void IssuerSet::stop(const IssuerSet* other) const {
  for (const auto& issuer : issuers_) issuer->stop(other && other->shares_keys(*issuer));
}

std::string IssuerSet::health(const IssuerSet* before) const {
  std::vector<std::string> problems;
  for (const auto& issuer : issuers_) {
    if (before && before->shares_keys(*issuer)) continue;
    if (std::string problem = issuer->keys()->health(); !problem.empty())
      problems.push_back(std::move(problem));
  }
  return problems.size() > 1 ? cat("[", join(problems, ", "), "]")
         : problems.empty()  ? ""
                             : problems[0];
}

Result<std::shared_ptr<const IssuerSet>> build_issuers(const AuthenticationConfig& config,
                                                       const IssuerParts& parts,
                                                       const IssuerSet* before) {
  std::vector<ClaimRules> rules;
  if (auto errors = validate(config, parts.context, &rules); !errors.empty())
    return fail(bad_request(cat("invalid authentication configuration: ", message_of(errors))));
  for (const JwtConfig& jwt : config.jwt)
    if (auto egress = egress_of(jwt, parts.egress); !egress) return fail(std::move(egress.error()));
  std::vector<std::shared_ptr<const JwtIssuer>> issuers;
  for (std::size_t i = 0; i < config.jwt.size(); ++i) {
    const JwtConfig& jwt = config.jwt[i];
    std::string cas;
    if (!jwt.issuer.certificate_authority.empty())
      cas = certificates_of(jwt.issuer.certificate_authority).value_or("");
    net::Dialer* const egress = *egress_of(jwt, parts.egress);
    auto fetcher = parts.make_fetcher
                       ? parts.make_fetcher(cas)
                       : make_fetcher(parts.loop, egress ? *egress : parts.dialer, cas);
    if (!fetcher) return fail(std::move(fetcher.error()));
    auto metrics = parts.metrics.issuer(jwt.issuer.url);
    std::shared_ptr<KeySource> keys = keys_before(before, jwt.issuer);
    if (!keys)
      keys = discovered_keys(parts.loop, *fetcher, parts.clock,
                             {.issuer = jwt.issuer.url,
                              .discovery_url = jwt.issuer.discovery_url,
                              .retry = parts.retry,
                              .refetch = parts.refetch,
                              .metrics = metrics,
                              .log = parts.log});
    issuers.push_back(std::make_shared<const JwtIssuer>(JwtIssuer::Parts{
        .config = jwt,
        .rules = std::move(rules[i]),
        .algorithms = parts.algorithms,
        .keys = std::move(keys),
        .distributed = std::make_shared<DistributedClaims>(parts.loop, *fetcher, parts.clock),
        .metrics = metrics}));
  }
  return std::make_shared<const IssuerSet>(std::move(issuers));
}

struct Remembered {
  std::uint64_t generation;  // of the issuers
  std::uint64_t memory;
  Time until;
  Identity identity;
};
class JwtAuthenticators::Memory : public TokenMemory<Remembered> {};

// Tokens that an issuer was asked about: those that were accepted, and those whose answer is
// awaited. From any thread.
class JwtAuthenticators::Waited {
 public:
  using Answer = std::optional<Result<Identity>>;
  using Waiter = std::function<void(Answer)>;
  static constexpr std::size_t kMost = 4096;

  std::optional<Remembered> find(std::string_view token) const {
    std::lock_guard lock(mutex_);
    auto found = accepted_.find(token);
    if (found == accepted_.end()) return std::nullopt;
    return found->second;
  }
  void keep(std::string_view token, Remembered entry) {
    std::lock_guard lock(mutex_);
    // The oldest are over soon; which ones they are is not worth knowing.
    if (accepted_.size() >= kMost) accepted_.clear();
    accepted_.insert_or_assign(std::string(token), std::move(entry));
  }
  void forget(std::string_view token) {
    std::lock_guard lock(mutex_);
    if (auto found = accepted_.find(token); found != accepted_.end()) accepted_.erase(found);
  }

  // The first with a key asks, and is told so by no answer; the others get what it ends with.
  void join(const std::string& key, Waiter waiter) {
    {
      std::lock_guard lock(mutex_);
      auto [at, is_first] = pending_.try_emplace(key);
      if (!is_first) {
        at->second.push_back(std::move(waiter));
        return;
      }
    }
    waiter(std::nullopt);
  }
  void end(const std::string& key, const Result<Identity>& answer) {
    std::vector<Waiter> waiters;
    {
      std::lock_guard lock(mutex_);
      auto found = pending_.find(key);
      waiters = std::move(found->second);
      pending_.erase(found);
    }
    for (Waiter& waiter : waiters) waiter(answer);
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Remembered, StringHash, std::equal_to<>> accepted_;
  std::unordered_map<std::string, std::vector<Waiter>> pending_;
};

JwtAuthenticators::JwtAuthenticators(std::shared_ptr<const IssuerSet> issuers,
                                     std::vector<std::string> audiences, const Clock& clock,
                                     AuthenticationMetrics* metrics)
    : issuers_(std::move(issuers)),
      audiences_(std::move(audiences)),
      clock_(clock),
      metrics_(metrics),
      memory_(std::make_unique<Memory>()),
      waited_(std::make_unique<Waited>()) {}

// Threads may hold the last set they saw for long: it is stopped here, not when the last of them
// lets go.
JwtAuthenticators::~JwtAuthenticators() {
  if (const auto last = issuers_.get()) last->stop();
  issuers_.set(nullptr);
}

void JwtAuthenticators::swap(std::shared_ptr<const IssuerSet> issuers) {
  const std::shared_ptr<const IssuerSet> last = issuers_.get(), next = issuers;
  // Before the new ones count, so that withdrawn keys authenticate no user.
  if (last && next) next->renew_keys(*last);
  issuers_.set(std::move(issuers));
  if (last) last->stop(next.get());
}

// Such tokens are for this server: a question about other audiences only gets no answer.
bool JwtAuthenticators::serves(const Credentials& credentials) const {
  return !credentials.audiences || std::ranges::any_of(audiences_, [&](const std::string& own) {
    return std::ranges::find(*credentials.audiences, own) != credentials.audiences->end();
  });
}

Outcome JwtAuthenticators::finish(Identity identity, const Credentials& credentials) const {
  if (credentials.audiences)
    for (const std::string& own : audiences_)
      if (std::ranges::find(*credentials.audiences, own) != credentials.audiences->end())
        identity.audiences.push_back(own);
  return std::optional(std::move(identity));
}

std::optional<Outcome> JwtAuthenticators::recall(const Credentials& credentials,
                                                 const IssuerSet& issuers, Time now) const {
  const Stopwatch watch;
  const Remembered* known = memory_->find(credentials.token);
  if (!known) return std::nullopt;
  if (known->generation != issuers.generation() ||
      known->memory != memory_generation_.load(std::memory_order_relaxed) || now > known->until) {
    memory_->forget(credentials.token);
    return std::nullopt;
  }
  if (metrics_) metrics_->cache_asked(true, watch.elapsed());
  return finish(known->identity, credentials);
}

std::optional<Outcome> JwtAuthenticators::recall_waited(const Credentials& credentials,
                                                        const IssuerSet& issuers, Time now) const {
  auto known = waited_->find(credentials.token);
  if (!known) return std::nullopt;
  const bool counts = known->generation == issuers.generation() &&
                      known->memory == memory_generation_.load(std::memory_order_relaxed) &&
                      now <= known->until;
  if (!counts) {
    waited_->forget(credentials.token);
    return std::nullopt;
  }
  return finish(memory_->keep(credentials.token, std::move(*known))->identity, credentials);
}

class JwtAuthenticators::Remembering : public Authenticator {
 public:
  explicit Remembering(std::shared_ptr<const JwtAuthenticators> all) : all_(std::move(all)) {}
  std::optional<Outcome> authenticate(const Credentials& credentials) const override {
    const std::shared_ptr<const IssuerSet>& issuers = all_->issuers_.get();
    if (credentials.token.empty() || !issuers || issuers->issuers().empty() ||
        !all_->serves(credentials))
      return not_mine();
    auto known = all_->recall(credentials, *issuers, all_->clock_.now());
    return known ? std::move(known) : not_mine();
  }

 private:
  const std::shared_ptr<const JwtAuthenticators> all_;
};

std::shared_ptr<const Authenticator> JwtAuthenticators::remembered() const {
  return std::make_shared<Remembering>(shared_from_this());
}

std::optional<Outcome> JwtAuthenticators::authenticate(const Credentials& credentials) const {
  const std::shared_ptr<const IssuerSet>& issuers = issuers_.get();
  if (credentials.token.empty() || credentials.token.size() > kMaxTokenBytes || !issuers ||
      issuers->issuers().empty() || !serves(credentials))
    return not_mine();
  const Time now = clock_.now();
  if (auto known = recall(credentials, *issuers, now)) return known;
  const auto started = std::chrono::steady_clock::now();
  const Result<Jwt>& jwt = parse_jwt_once(credentials.token);
  if (!jwt) return not_mine();
  const JwtIssuer* issuer = issuers->find(jwt->issuer());
  if (!issuer) return not_mine();
  auto identity = issuer->check(*jwt, now);
  if (!identity) return recall_waited(credentials, *issuers, now);
  const auto took = std::chrono::steady_clock::now() - started;
  count_verified(*issuer, identity->has_value(), took);
  if (!*identity) return fail(std::move(identity->error()));
  const Remembered* kept = memory_->keep(
      credentials.token,
      {issuers->generation(), memory_generation_.load(std::memory_order_relaxed),
       std::min(now + kRemembered, expiry_of(jwt->claims)), std::move(**identity)});
  return finish(kept->identity, credentials);
}

void JwtAuthenticators::count_verified(const JwtIssuer& issuer, bool accepted,
                                       std::chrono::nanoseconds took) const {
  issuer.count(accepted, took);
  if (!metrics_) return;
  metrics_->cache_asked(false, took);
  metrics_->token_verified(accepted);
}

Task<Result<Identity>> JwtAuthenticators::check_once(std::shared_ptr<const IssuerSet> issuers,
                                                     const JwtIssuer& issuer, const Jwt& jwt,
                                                     std::string_view token) const {
  struct Counted {
    std::atomic<std::int64_t>* number;
    explicit Counted(std::atomic<std::int64_t>* n) : number(n) {
      if (number) number->fetch_add(1);
    }
    ~Counted() {
      if (number) number->fetch_sub(1);
    }
  };
  const std::string key = cat(issuers->generation(), " ", token);
  Waited::Answer shared;
  {
    const Counted blocked(metrics_ ? &metrics_->blocked : nullptr);
    auto start = [this, key](auto done) { waited_->join(key, std::move(done)); };
    Waited::Answer answer = co_await await_callback<Waited::Answer>(std::move(start));
    shared = std::move(answer);
  }
  if (shared) co_return std::move(*shared);
  const Counted in_flight(metrics_ ? &metrics_->in_flight : nullptr);
  const Time now = clock_.now();
  Result<Identity> identity = co_await issuer.check_waiting(jwt, now);
  if (identity)
    waited_->keep(token, {issuers->generation(), memory_generation_.load(),
                          std::min(now + kRemembered, expiry_of(jwt.claims)), *identity});
  waited_->end(key, identity);
  co_return identity;
}

Task<Outcome> JwtAuthenticators::authenticate_waiting(Credentials credentials) const {
  const auto started = std::chrono::steady_clock::now();
  const auto jwt = parse_jwt(credentials.token);
  if (!jwt) co_return not_mine();
  for (;;) {
    const std::shared_ptr<const IssuerSet> issuers = issuers_.get();  // held while we wait
    const JwtIssuer* issuer = issuers ? issuers->find(jwt->issuer()) : nullptr;
    if (!issuer) co_return not_mine();
    Result<Identity> identity = co_await check_once(issuers, *issuer, *jwt, credentials.token);
    // INVARIANT: a configuration that was replaced meanwhile authenticates no user; the current one
    // is asked instead.
    if (issuers_.get() != issuers) continue;
    count_verified(*issuer, identity.has_value(), std::chrono::steady_clock::now() - started);
    if (!identity) co_return fail(std::move(identity.error()));
    co_return finish(std::move(*identity), credentials);
  }
}

void JwtAuthenticators::note_refusal(std::string_view token,
                                     std::vector<std::string>& texts) const {
  std::erase(texts, "invalid bearer token");
  for (std::string& text : texts) text = without_claims(std::move(text));
  if (texts.empty()) {
    const Result<Jwt>& jwt = parse_jwt_once(token);
    texts.push_back(jwt ? "oidc: no configured issuer has the issuer of the token"
                        : jwt.error().message);
  }
  if (metrics_) metrics_->refused(refusal_reason(texts.front()));
}

}  // namespace cardea::authn
