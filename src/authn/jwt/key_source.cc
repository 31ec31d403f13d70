#include "authn/jwt/key_source.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "authn/jwt/freshness.h"
#include "authn/jwt/issuer_metrics.h"
#include "base/snapshot.h"
#include "base/strings.h"
#include "json/parse.h"

namespace cardea::authn {
namespace {

using Waiter = std::move_only_function<void(Result<void>)>;

class FixedKeys : public KeySource {
 public:
  explicit FixedKeys(std::shared_ptr<const KeySet> keys) : keys_(std::move(keys)) {}
  std::string health() const override { return ""; }
  std::shared_ptr<const KeySet> keys(Time) override { return keys_; }
  bool may_refresh() const override { return false; }
  Task<Result<void>> refresh() override {
    co_return fail(internal_error("no keys matches jwk keyid"));
  }
  Task<Result<void>> ready() override { co_return Result<void>(); }

 private:
  std::shared_ptr<const KeySet> keys_;
};

std::string well_known(std::string_view issuer) {
  if (issuer.ends_with('/')) issuer.remove_suffix(1);
  return cat(issuer, "/.well-known/openid-configuration");
}

using Milliseconds = std::chrono::milliseconds;
constexpr Milliseconds kSoonest = std::chrono::minutes(1);  // whatever cache headers say

std::int64_t to_milliseconds(Time at) {
  return std::chrono::duration_cast<Milliseconds>(at.time_since_epoch()).count();
}

struct DatedKeys {
  std::shared_ptr<const KeySet> set;
  Time end;  // from then on they do not count
};

// Lives on the loop; what other threads read is atomic or behind `mutex_`. The handle below is what
// others hold: when it goes, so does the state, on its loop.
class Discovery : public std::enable_shared_from_this<Discovery> {
 public:
  Discovery(net::Loop& loop, std::shared_ptr<Fetcher> fetcher, const Clock& clock,
            DiscoveryOptions options)
      : loop_(loop), fetcher_(std::move(fetcher)), clock_(clock), options_(std::move(options)) {
    problem_ = cat("oidc: authenticator for issuer ", cardea::quoted(options_.issuer),
                   " is not initialized");
  }

  void start() {
    loop_.post([self = shared_from_this()] { self->discover(); });
  }
  void stop() {
    loop_.post([self = shared_from_this()] { self->end(); });
  }

  std::string health() const {
    if (discovered_.load(std::memory_order_acquire)) return "";
    std::lock_guard lock(mutex_);
    return problem_;
  }
  std::shared_ptr<const KeySet> keys(Time now, bool may_ask) {
    const std::shared_ptr<const DatedKeys>& last = keys_.get();
    if (!last) return nullptr;
    if (std::int64_t due = due_.load(std::memory_order_relaxed);
        may_ask && to_milliseconds(now) >= due)
      ask_soon(due, now);
    return now < last->end ? last->set : nullptr;
  }
  void renew() {
    wanted_.fetch_add(1, std::memory_order_acq_rel);
    loop_.post([self = shared_from_this()] { self->begin_renewal(); });
  }
  bool is_current() const {
    return settled_.load(std::memory_order_acquire) >= wanted_.load(std::memory_order_acquire);
  }
  void current(Waiter waiter) {
    loop_.post([self = shared_from_this(), waiter = std::move(waiter)]() mutable {
      self->wait_current(std::move(waiter));
    });
  }
  bool may_refresh() const {
    return discovered_.load(std::memory_order_acquire) &&
           (fetching_.load(std::memory_order_acquire) || may_fetch());
  }
  void refresh(Waiter waiter) {
    loop_.post([self = shared_from_this(), waiter = std::move(waiter)]() mutable {
      self->fetch(std::move(waiter));
    });
  }
  void ready(Waiter waiter) {
    loop_.post([self = shared_from_this(), waiter = std::move(waiter)]() mutable {
      self->wait_ready(std::move(waiter));
    });
  }

 private:
  static std::int64_t steady_now() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

  // A few fetches may follow each other, because keys may be rotated twice in a short time; on
  // average there is one in `refetch`, whatever tokens are sent.
  bool may_fetch() const {
    constexpr int kInARow = 3;
    return steady_now() + (kInARow - 1) * options_.refetch.count() >=
           next_fetch_.load(std::memory_order_acquire);
  }

  void log(const std::string& line) const {
    if (options_.log) options_.log(line);
  }

  void discover() {
    if (ended_) return;
    std::string url = options_.discovery_url.empty() ? well_known(options_.issuer)
                                                     : options_.discovery_url;
    fetcher_->get(std::move(url), "", [weak = weak_from_this()](Result<http::Answer> answer) {
      if (auto self = weak.lock()) self->on_discovery(std::move(answer));
    });
  }

  Result<std::string> read_discovery(Result<http::Answer> answer) const {
    if (!answer) return fail(std::move(answer.error()));
    if (answer->status != 200)
      return fail(internal_error(cat(answer->status, " ", http::status_text(answer->status), ": ",
                                     answer->body.substr(0, 200))));
    auto document = json::parse(answer->body);
    if (!document || !document->is_object())
      return fail(internal_error("oidc: failed to decode provider discovery object"));
    const std::string_view issuer = (*document)["issuer"].as_string();
    if (issuer != options_.issuer)
      return fail(internal_error(
          cat("oidc: issuer did not match the issuer returned by provider, expected ",
              cardea::quoted(options_.issuer), " got ", cardea::quoted(issuer))));
    const std::string_view url = (*document)["jwks_uri"].as_string();
    if (url.empty()) return fail(internal_error("provider did not return JWKS URL"));
    return std::string(url);
  }

  void on_discovery(Result<http::Answer> answer) {
    if (ended_) return;
    if (renewing_) return on_discovered_again(std::move(answer));
    auto url = read_discovery(std::move(answer));
    if (options_.metrics) options_.metrics->discovered(url.has_value(), clock_.now());
    Result<void> outcome;
    if (url) {
      jwks_url_ = std::move(*url);
      discovered_.store(true, std::memory_order_release);
    } else {
      std::string problem = cat("oidc: authenticator for issuer ", cardea::quoted(options_.issuer),
                                " is not healthy: ", url.error().message);
      log(problem);
      outcome = fail(internal_error(problem));
      {
        std::lock_guard lock(mutex_);
        problem_ = std::move(problem);
      }
      if (!timer_) timer_ = std::make_unique<net::Timer>(loop_, [this] { discover(); });
      timer_->start(options_.retry);
    }
    wake(ready_waiters_, outcome);
  }

  void wait_ready(Waiter waiter) {
    if (discovered_.load(std::memory_order_relaxed) || ended_)
      return waiter(ended_ ? Result<void>(fail(internal_error("stopped"))) : Result<void>());
    ready_waiters_.push_back(std::move(waiter));
  }

  void fetch(Waiter waiter) {
    if (ended_) return waiter(fail(internal_error("stopped")));
    if (!discovered_.load(std::memory_order_relaxed))
      return waiter(fail(internal_error("oidc: authenticator not initialized")));
    if (!fetching_.load(std::memory_order_relaxed)) {
      if (!may_fetch()) {
        // A caller that waited for keys which another caller has just fetched has them now.
        return waiter(last_fetch_ ? Result<void>()
                                  : Result<void>(fail(internal_error(last_fetch_problem_))));
      }
      start_fetch(false);
    }
    key_waiters_.push_back(std::move(waiter));
  }

  void start_fetch(bool renews) {
    next_fetch_.store(std::max(next_fetch_.load(std::memory_order_relaxed), steady_now()) +
                          options_.refetch.count(),
                      std::memory_order_release);
    fetching_.store(true, std::memory_order_release);
    fetch_renews_ = renews;
    asked_at_ = clock_.now();
    fetcher_->get(jwks_url_, "", [weak = weak_from_this()](Result<http::Answer> answer) {
      if (auto self = weak.lock()) self->on_keys(std::move(answer));
    });
  }

  // Another thread found that the keys are due. One of them asks.
  void ask_soon(std::int64_t due, Time now) {
    if (!due_.compare_exchange_strong(due, to_milliseconds(now + options_.refetch))) return;
    loop_.post([self = shared_from_this()] { self->begin_renewal(); });
  }

  // A renewal asks where the keys are, then for the keys. One at a time; one that was wanted
  // meanwhile follows.
  void begin_renewal() {
    if (ended_ || renewing_) return;
    if (!discovered_.load(std::memory_order_relaxed))
      return settle(wanted_.load(), {});  // no user is authenticated yet
    renewing_ = true;
    renewal_of_ = wanted_.load(std::memory_order_acquire);
    discover();
  }

  void on_discovered_again(Result<http::Answer> answer) {
    auto url = read_discovery(std::move(answer));
    if (url)
      jwks_url_ = std::move(*url);
    else {
      log(cat("oidc: issuer ", cardea::quoted(options_.issuer),
              " could not be discovered again: ", url.error().message));
      settle(renewal_of_, fail(std::move(url.error())));  // no caller waits for a second failure
    }
    // Keys that are on their way may be those of before.
    if (fetching_.load(std::memory_order_relaxed))
      must_fetch_again_ = true;
    else
      start_fetch(true);
  }

  void end_renewal(const Result<void>& outcome) {
    renewing_ = false;
    settle(renewal_of_, outcome);
    if (!is_current()) begin_renewal();
  }

  void settle(std::uint64_t renewal, const Result<void>& outcome) {
    if (settled_.load(std::memory_order_relaxed) < renewal)
      settled_.store(renewal, std::memory_order_release);
    if (is_current()) wake(current_waiters_, outcome);
  }

  void wait_current(Waiter waiter) {
    if (ended_) return waiter(fail(internal_error("stopped")));
    if (is_current()) return waiter({});
    current_waiters_.push_back(std::move(waiter));
  }

  // When to ask again: after `wait`, by the clock or by the loop's own time.
  void ask_again_in(Milliseconds wait) {
    due_.store(to_milliseconds(clock_.now() + wait), std::memory_order_relaxed);
    if (!refresh_timer_)
      refresh_timer_ = std::make_unique<net::Timer>(loop_, [this] { begin_renewal(); });
    refresh_timer_->start(wait);
  }
  Milliseconds refresh_in(const http::Headers& headers) const {
    Milliseconds said = lifetime_of(headers).value_or(
        std::chrono::duration_cast<std::chrono::seconds>(options_.refresh));
    return std::min(std::max(said, kSoonest), options_.refresh);
  }

  void on_keys(Result<http::Answer> answer) {
    auto take = [&]() -> Result<void> {
      if (!answer)
        return fail(internal_error(cat("oidc: get keys failed: ", answer.error().message)));
      if (answer->status != 200)
        return fail(internal_error(cat("oidc: get keys failed: ", answer->status, " ",
                                       http::status_text(answer->status))));
      auto set = parse_key_set(answer->body);
      if (!set)
        return fail(internal_error(cat("oidc: failed to decode keys: ", set.error().message)));
      for (const std::string& why : (*set)->skipped)
        log(cat("oidc: issuer ", cardea::quoted(options_.issuer), ": ", why));
      keys_.set(std::make_shared<const DatedKeys>(std::move(*set), asked_at_ + options_.max_age));
      return {};
    };
    if (ended_) return;
    Result<void> outcome = take();
    if (outcome || keys_.get())
      ask_again_in(outcome ? refresh_in(answer->headers) : options_.refetch);
    last_fetch_ = outcome.has_value();
    if (!outcome) {
      last_fetch_problem_ = outcome.error().message;
      log(cat("oidc: issuer ", cardea::quoted(options_.issuer), ": ", last_fetch_problem_));
    }
    if (options_.metrics)
      options_.metrics->keys_fetched(outcome.has_value(), clock_.now(),
                                     outcome ? answer->body : "");
    fetching_.store(false, std::memory_order_release);
    wake(key_waiters_, outcome);
    if (fetch_renews_) return end_renewal(outcome);
    if (std::exchange(must_fetch_again_, false)) start_fetch(true);
  }

  void wake(std::vector<Waiter>& waiters, const Result<void>& outcome) {
    for (Waiter& waiter : std::exchange(waiters, {})) waiter(outcome);
  }

  void end() {
    ended_ = true;
    timer_.reset();
    refresh_timer_.reset();
    const Result<void> stopped = fail(internal_error("stopped"));
    wake(ready_waiters_, stopped);
    wake(key_waiters_, stopped);
    wake(current_waiters_, stopped);
    fetcher_.reset();
  }

  net::Loop& loop_;
  std::shared_ptr<Fetcher> fetcher_;
  const Clock& clock_;
  const DiscoveryOptions options_;

  std::atomic<bool> discovered_{false};
  std::atomic<bool> fetching_{false};
  std::atomic<std::int64_t> next_fetch_{0};  // steady milliseconds; later the more were made
  std::atomic<std::int64_t> due_{0};         // when keys are to be fetched again, by the clock, in
                                             // milliseconds
  std::atomic<std::uint64_t> wanted_{0}, settled_{0};  // renewals, counted
  Snapshot<DatedKeys> keys_;
  mutable std::mutex mutex_;
  std::string problem_;  // guarded by mutex_

  // The loop's thread only.
  bool ended_ = false;
  bool last_fetch_ = false;
  std::string last_fetch_problem_;
  std::string jwks_url_;
  Time asked_at_;  // the fetch under way
  bool fetch_renews_ = false, must_fetch_again_ = false;
  bool renewing_ = false;
  std::uint64_t renewal_of_ = 0;  // how many were wanted when the renewal under way began
  std::unique_ptr<net::Timer> timer_, refresh_timer_;
  std::vector<Waiter> ready_waiters_, key_waiters_, current_waiters_;
};

class DiscoveredKeys : public KeySource {
 public:
  explicit DiscoveredKeys(std::shared_ptr<Discovery> discovery) : discovery_(std::move(discovery)) {
    discovery_->start();
  }
  ~DiscoveredKeys() override { stop(); }
  void stop() override {
    if (!stopped_.exchange(true)) discovery_->stop();
  }

  std::string health() const override { return discovery_->health(); }
  std::shared_ptr<const KeySet> keys(Time now) override { return discovery_->keys(now, !stopped_); }
  bool may_refresh() const override { return discovery_->may_refresh(); }
  Task<Result<void>> refresh() override {
    if (stopped_) co_return fail(internal_error("stopped"));
    Result<void> outcome = co_await await_callback<Result<void>>(
        [d = discovery_](auto done) { d->refresh(std::move(done)); });
    co_return outcome;
  }
  Task<Result<void>> ready() override {
    if (stopped_) co_return fail(internal_error("stopped"));
    Result<void> outcome = co_await await_callback<Result<void>>(
        [d = discovery_](auto done) { d->ready(std::move(done)); });
    co_return outcome;
  }
  void renew() override {
    if (!stopped_) discovery_->renew();
  }
  bool is_current() const override { return discovery_->is_current(); }
  Task<Result<void>> current() override {
    if (stopped_) co_return fail(internal_error("stopped"));
    Result<void> outcome = co_await await_callback<Result<void>>(
        [d = discovery_](auto done) { d->current(std::move(done)); });
    co_return outcome;
  }

 private:
  std::shared_ptr<Discovery> discovery_;
  std::atomic<bool> stopped_{false};
};

}  // namespace

std::shared_ptr<KeySource> fixed_keys(std::shared_ptr<const KeySet> keys) {
  return std::make_shared<FixedKeys>(std::move(keys));
}

std::shared_ptr<KeySource> discovered_keys(net::Loop& loop, std::shared_ptr<Fetcher> fetcher,
                                           const Clock& clock, DiscoveryOptions options) {
  return std::make_shared<DiscoveredKeys>(
      std::make_shared<Discovery>(loop, std::move(fetcher), clock, std::move(options)));
}

}  // namespace cardea::authn
