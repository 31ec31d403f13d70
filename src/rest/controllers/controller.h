#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/metrics.h"
#include "base/task.h"
#include "rest/catalog_holder.h"
#include "rest/loopback.h"
#include "store/store.h"

namespace cardea::rest {

class Aggregator;

// The parts that every controller gets. All of them must outlive the controllers.
struct ControllerContext {
  store::Store& store;
  CatalogHolder& catalog;
  Gateway& gateway;
  net::Loop& loop;  // where all controllers work
  const Clock& clock;
  std::function<void(const std::string&)> log;  // receives one line about repeated failures; may be
                                                // empty
  std::function<void(const std::string&)> notice = {};  // the same, for what operators should know
  MetricRegistry* metrics = nullptr;                    // where queues are counted; null: nowhere
  Aggregator* aggregator = nullptr;  // is told about other servers; null: none is called
};

// Why a controller does nothing: somebody else does its work.
enum class Aside : std::uint8_t {
  kOutsideManager = 1,  // a kube-controller-manager
  kNotElected = 2,      // another server on the same store
};

// Brings one aspect of the cluster to its desired state, repeatedly.
//
// It receives the stored objects as a first round of events, then every change. An event names
// the keys that need a check (the controller chooses the keys); keys are coalesced and
// reconciled on the loop, each by one coroutine at a time. A failed key is retried with growing
// delays. Reconciling reads the current state, never the event, so that a lost or repeated
// event does no harm. It writes through `api()`, under the controller's own identity.
class Controller {
 public:
  virtual ~Controller();
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  // From outside the loop, once.
  Result<void> start();
  // From outside the loop. Waits for running work; afterwards the controller does nothing more.
  // The owner of a started controller must stop it before destroying it.
  void stop();

  // On the loop. Somebody else does this controller's work: it forgets what it has observed and
  // starts nothing. What runs already comes to its end.
  void step_aside(Aside why = Aside::kOutsideManager);
  // On the loop. When no other reason is left it works again, and observes everything that is
  // stored as at the start. After an error it stays aside.
  Result<void> step_in(Aside why = Aside::kOutsideManager);

  const std::string& name() const { return name_; }

 protected:
  struct Settings {
    std::vector<std::string> prefixes;  // of the store's keys
    std::size_t workers = 1;            // keys reconciled at the same time
    std::chrono::milliseconds longest_delay{30'000};
  };
  Controller(ControllerContext context, std::string name, Settings settings);

  // On a thread of the store, concurrently with everything else: whether this change could
  // matter. Reads the event alone.
  virtual bool cares(const store::Event& event) const = 0;
  // On the loop, in the order of revisions. Objects that were stored before the start appear as
  // creations.
  virtual void observe(const store::Event& event) = 0;
  // On the loop. Drops what observe() has collected: the controller steps aside.
  virtual void forget() {}
  // On the loop. An error means: try this key again later.
  virtual Task<Result<void>> reconcile(std::string key) = 0;

  // On the loop.
  void enqueue(std::string key);
  // Later, unless the key waits already.
  void enqueue_after(std::string key, std::chrono::milliseconds delay);
  bool stopping() const;

  const ControllerContext& context() const { return context_; }
  store::Store& store() const { return context_.store; }
  const Loopback& api() const { return api_; }

  // Sends each request with an empty or given body, a few at a time, and continues in a later
  // turn of the loop, so that many requests neither fill the stack nor block the loop. Ends early
  // when the controller stops.
  struct Order {
    std::string method, target;
    json::Value body;
  };
  // The first answer that is neither a success nor a 404 is the error.
  Task<Result<void>> send_all(std::vector<Order> orders);

 private:
  struct State;
  // All objects of its prefixes, as of `revision`.
  Result<std::vector<store::RecordPtr>> present(store::Revision revision);

  ControllerContext context_;
  std::string name_;
  Settings settings_;
  Loopback api_;
  std::shared_ptr<State> state_;
  bool is_stopped_ = false;
};

// An answer as an error; none when it succeeded.
Result<void> outcome(const Loopback::Reply& reply);

// Continues in a later turn of the loop.
inline auto next_turn(net::Loop& loop) {
  return await_callback<bool>([&loop](auto done) { loop.post([done]() mutable { done(true); }); });
}

// Whether the deletion of the object was requested.
inline bool is_deleting(const json::Value& object) {
  return object["metadata"].has("deletionTimestamp");
}

// The last part of a key, and the one before it.
std::string_view name_in(std::string_view key);
std::string_view namespace_in(std::string_view key);

}  // namespace cardea::rest
