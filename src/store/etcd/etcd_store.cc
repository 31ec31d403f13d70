#include "store/etcd/etcd_store.h"

#include <algorithm>
#include <future>
#include <utility>

#include "base/strings.h"
#include "store/etcd/etcd_engine.h"

namespace cardea::store {
namespace {

constexpr std::string_view kLayoutKey = "/cardea/layout";
constexpr std::string_view kLayout = "kubernetes";

}  // namespace

EtcdStore::~EtcdStore() {
  run_on_loop([this] { close(); });
  // What was posted by then is run, so that every callback has been called.
  run_on_loop([] {});
  loops_.stop();
}

Result<void> EtcdStore::open() {
  std::promise<Result<void>> promise;
  auto future = promise.get_future();
  loop_.post([this, &promise] {
    channel_ = std::make_unique<Channel>(loop_, dialer_, tls_, options_.endpoints, random_);
    tick_ = std::make_unique<net::Timer>(loop_, [this] { tick(); });
    gap_timer_ = std::make_unique<net::Timer>(loop_, [this] { close_gap(); });
    read_timer_ = std::make_unique<net::Timer>(loop_, [this] { start_read(); });
    again_timer_ = std::make_unique<net::Timer>(loop_, [this] { follow(); });
    confirm_timer_ = std::make_unique<net::Timer>(loop_, [this] { confirm(); });
    load_timer_ = std::make_unique<net::Timer>(loop_, [this] {
      if (auto done = std::exchange(load_waits_, nullptr)) done(true);
    });
    spawn(load(0), [this, &promise](Result<Loaded> loaded) {
      loading_ = nullptr;
      if (!loaded) return promise.set_value(fail(std::move(loaded.error())));
      // What was before is not known, unless there was nothing.
      const Revision compacted = loaded->revision > 1 ? loaded->revision : 0;
      timeline_.restore({.current = std::move(loaded->records),
                         .history = {},
                         .revision = loaded->revision,
                         .compacted = compacted});
      marked_ = loaded->revision;
      set_fresh(loaded->asked);
      follow();
      compaction_tried_ = loop_.now();
      tick_->start(kTick);
      confirm_timer_->start(options_.confirm_interval);
      promise.set_value({});
    });
  });
  if (auto loaded = future.get(); !loaded) return loaded;
  return options_.encoding ? check_layout() : Result<void>();
}

// A server from before there were encodings kept its own kinds where they are not looked for, and
// among them are denials: nothing starts on its data.
Result<void> EtcdStore::check_layout() {
  if (RecordPtr layout = get(kLayoutKey)) {
    if (layout->value() == kLayout) return {};
    return fail(bad_request(
        cat("etcd has the layout `", layout->value(), "` of a newer version of Cardea")));
  }
  if (count(keys_with_prefix("/cardea/")) > 0)
    return fail(bad_request(
        "etcd has objects in the layout of an earlier version of Cardea. Copy them with that "
        "version to SQLite (`cardea store copy`), and with this one back to an empty etcd"));
  auto written = commit_sync(*this, {{{std::string(kLayoutKey), 0}},
                                     {Put{std::string(kLayoutKey), std::string(kLayout)}}});
  if (!written) return fail(written.error());
  return {};  // or another server has just done it
}

StoreStats EtcdStore::stats() const {
  StoreStats stats;
  timeline_.describe(stats);
  stats.file_bytes = database_bytes_.load(std::memory_order_relaxed);
  std::lock_guard guard(trouble_lock_);
  stats.trouble = trouble_;
  return stats;
}

void EtcdStore::run_on_loop(std::function<void()> task) {
  std::promise<void> promise;
  loop_.post([&] {
    task();
    promise.set_value();
  });
  promise.get_future().get();
}

void EtcdStore::close() {
  is_closing_ = true;
  ++generation_;
  if (watch_) watch_->cancel();
  watch_.reset();
  for (auto* timer :
       {&tick_, &gap_timer_, &read_timer_, &again_timer_, &confirm_timer_, &load_timer_})
    timer->reset();
  channel_.reset();  // fails what is under way
  if (auto done = std::exchange(load_waits_, nullptr)) done(false);
  for (auto& [revision, waiter] : std::exchange(waiters_, {})) waiter.done(fail(closing()));
  for (Refreshed& done : std::exchange(want_fresh_, {})) done(fail(closing()));
}

void EtcdStore::set_trouble(std::string trouble) {
  std::lock_guard guard(trouble_lock_);
  if (trouble_ == trouble) return;
  trouble_ = std::move(trouble);
  if (!trouble_.empty()) say(cat("etcd: ", trouble_));
}

Task<Result<std::string>> EtcdStore::call(std::string_view method, std::string message, Asked asked,
                                          milliseconds deadline) {
  if (is_closing_) co_return fail(closing());
  Result<std::string> answer = co_await await_callback<Result<std::string>>(
      [this, method, &message, asked, deadline](auto done) {
        channel_->call(method, message, asked, deadline, std::move(done));
      });
  co_return answer;
}

Result<std::unique_ptr<Store>> open_etcd_store(EtcdOptions options) {
  static const SystemClock system_clock;
  if (options.endpoints.empty()) return fail(bad_request("etcd has no endpoints"));
  std::shared_ptr<const net::TlsClient> tls;
  const bool is_tls = std::ranges::any_of(options.endpoints, [](const std::string& endpoint) {
    return endpoint.starts_with("https:");
  });
  if (is_tls) {
    auto made = net::TlsClient::make({.server_cas = options.server_cas,
                                      .certificates = options.certificate,
                                      .key = options.key,
                                      .protocols = {"h2"}});
    if (!made) return fail(made.error());
    tls = std::move(*made);
  }
  for (std::string& endpoint : options.endpoints)
    while (endpoint.ends_with('/')) endpoint.pop_back();
  const Clock& clock = options.clock ? *options.clock : system_clock;
  auto store = std::make_unique<EtcdStore>(std::move(options), std::move(tls), clock);
  if (auto ok = store->open(); !ok) return fail(ok.error());
  return store;
}

}  // namespace cardea::store
