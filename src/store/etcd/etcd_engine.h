#pragma once
#include <atomic>
#include <map>
#include <mutex>
#include <unordered_map>

#include "base/random.h"
#include "base/task.h"
#include "net/dialer.h"
#include "store/etcd/channel.h"
#include "store/etcd/etcd_store.h"
#include "store/etcd/messages.h"
#include "store/revision_times.h"
#include "store/subscriptions.h"

namespace cardea::store {

// The engine behind open_etcd_store. Its parts have files of their own: `etcd_loading.cc` reads
// everything, `etcd_following.cc` keeps in step with the watch, `etcd_writing.cc` sends
// transactions, `etcd_chores.cc` confirms that reads are fresh and forgets history.
//
// All members below `the loop's` are used on the loop's thread alone.
class EtcdStore final : public Store {
 public:
  EtcdStore(EtcdOptions options, std::shared_ptr<const net::TlsClient> tls, const Clock& clock)
      : options_(std::move(options)),
        clock_(clock),
        keys_(options_.prefix, options_.encoding.get()),
        tls_(std::move(tls)),
        loop_(loops_.at(0)),
        loading_(options_.progress),
        times_(options_.history.keep) {}
  ~EtcdStore() override;

  Result<void> open();

  RecordPtr get(std::string_view key) const override { return timeline_.get(key); }
  Result<RangeResult> range(const RangeQuery& query) const override {
    return timeline_.range(query);
  }
  std::int64_t count(const KeyRange& keys) const override { return timeline_.count(keys); }
  Revision current_revision() const override { return timeline_.revision(); }
  Revision compacted_revision() const override { return timeline_.compacted(); }
  void commit(Txn txn, Done done) override;
  Result<std::unique_ptr<Watch>> watch(std::string prefix, Revision from, Sink sink) override {
    return subscriptions_.add(std::move(prefix), from, std::move(sink));
  }
  void compact(Revision revision, Compacted done) override;
  StoreStats stats() const override;
  bool is_always_fresh() const override { return false; }
  void refresh(Refreshed done) override;
  std::chrono::steady_clock::time_point fresh_as_of() const override {
    return std::chrono::steady_clock::time_point(
        std::chrono::steady_clock::duration(fresh_.load(std::memory_order_acquire)));
  }
  Revision marked_revision() const override { return marked_.load(std::memory_order_acquire); }
  bool is_stale(const Record& record) const override {
    return options_.encoding && options_.encoding->is_stale(record.key(), record.place);
  }
  void reach(Revision revision, Refreshed done) override;

 private:
  using Asked = etcd::Asked;
  using Channel = etcd::Channel;
  using milliseconds = std::chrono::milliseconds;

  static constexpr std::string_view kRange = "/etcdserverpb.KV/Range",
                                    kTxn = "/etcdserverpb.KV/Txn";
  static constexpr std::string_view kBarrierKey = "/cardea/barrier";
  static constexpr milliseconds kTick{1'000};

  // For what is asked when the store is about to go.
  static Error closing() { return Error::of(Reason::kServiceUnavailable, "the store is closing"); }

  struct Loaded {
    std::vector<RecordPtr> records;
    Revision revision = 0;
    net::SteadyTime asked;  // when the first page was
  };
  struct Waiter {
    net::SteadyTime until;
    Refreshed done;
  };
  struct Lease {
    std::int64_t id = 0;
    net::SteadyTime until{};  // it is given to new keys
    int keys = 0;
  };
  class Reader;  // of the watch

  void run_on_loop(std::function<void()> task);
  Result<void> check_layout();
  void close();
  void say(const std::string& line) const {
    if (options_.notice) options_.notice(line);
  }
  void set_trouble(std::string trouble);
  Task<Result<std::string>> call(std::string_view method, std::string message, Asked asked,
                                 milliseconds deadline);

  // Everything at one revision.
  Task<Result<Loaded>> load(int attempts);
  Task<Result<Loaded>> load_once(net::SteadyTime until);
  Error went_back(Revision to);
  void reload();
  Task<bool> reload_all(std::uint64_t generation);
  std::vector<EventPtr> difference(std::span<const RecordPtr> after, Revision revision);

  // Following.
  void follow();
  Task<bool> begin_watch(std::uint64_t generation);
  void watch_ended(const std::string& why, bool elsewhere);
  void drop_unpublished();
  void take(std::string_view message);
  void publish();
  void note(std::span<const EventPtr> events);
  void moved(bool has_events);
  void wait_until(Revision revision, milliseconds longest, Refreshed done);
  void close_gap();
  void expire_waiters();

  // Writing.
  const EtcdLeased* leased_by(const Txn& txn) const;
  Task<bool> send_leased(const EtcdLeased& leased, Txn txn, Done done);
  Result<std::string> request_of(const Txn& txn, std::int64_t lease = 0) const;
  bool is_marked(std::string_view key) const;
  void send(Txn txn, Done done);
  void send(Txn txn, std::string_view message, Done done);
  void answered(Txn txn, Done done, Result<std::string> message);
  Commit commit_of(const Txn& txn, const etcd::TxnAnswer& answer) const;
  RecordPtr record_at(const Put& put, Revision revision) const;
  Task<Result<Commit>> write(Txn txn);

  // Freshness and history.
  void start_read();
  Task<bool> read_revision(net::SteadyTime asked, std::vector<Refreshed> waiting);
  void set_fresh(net::SteadyTime at);
  void confirm();
  void tick();
  Task<bool> chores();
  void trim();
  Task<Result<void>> compact_all(Revision revision);
  Task<bool> compact_etcd();

  const EtcdOptions options_;
  const Clock& clock_;
  const etcd::KeySpace keys_;
  const std::shared_ptr<const net::TlsClient> tls_;
  Timeline timeline_;
  Subscriptions subscriptions_{timeline_};
  std::atomic<net::SteadyTime::rep> fresh_ = 0;
  std::atomic<std::uint64_t> database_bytes_ = 0;
  std::atomic<Revision> marked_ = 0;
  mutable std::mutex trouble_lock_;
  std::string trouble_;

  SystemRandom random_;
  net::Loops loops_{1};
  net::Loop& loop_;
  net::Dialer dialer_;

  // The loop's.
  std::unique_ptr<Channel> channel_;
  std::unique_ptr<net::Timer> tick_, gap_timer_, read_timer_, again_timer_, confirm_timer_,
      load_timer_;
  std::move_only_function<void(bool)> load_waits_;
  bool is_closing_ = false;
  Error lost_{Reason::kUnknown, "", nullptr, 0};  // etcd is not what it was: nothing works any more

  std::shared_ptr<http::OpenCall> watch_;
  std::uint64_t generation_ = 0;  // of the watch: what belongs to an earlier one is of no interest
  int failures_ = 0;
  bool has_true_progress_ = false;
  std::vector<etcd::Change> partial_;  // of an answer whose fragments are not all there
  Revision partial_changed_ = 0;       // its last change, also of others
  std::vector<etcd::Change> ready_;    // to be published
  Revision progress_ = 0;              // nothing will come of revisions up to here
  Revision at_ = 0;
  net::SteadyTime moved_{};  // when the timeline last did, or somebody began to wait for it
  net::SteadyTime asked_progress_{};
  std::multimap<Revision, Waiter> waiters_;

  std::map<const EtcdLeased*, Lease> leases_;

  std::vector<Refreshed> want_fresh_;
  bool is_reading_ = false;
  net::SteadyTime read_began_{};

  std::function<void(std::uint64_t, std::uint64_t)> loading_;  // null once everything is there
  RevisionTimes times_;
  Revision compact_to_ = 0;
  bool is_closing_quiet_ = false;
  std::vector<std::move_only_function<void(bool)>> after_quiet_;
  net::SteadyTime compaction_tried_{};
  std::int64_t turn_version_ = 0;  // of the turn to compact, as this server last saw it
  Revision turn_revision_ = 0;     // that was current then
};

}  // namespace cardea::store
