#pragma once
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "base/task.h"
#include "catalog/conversion.h"
#include "http/exchange.h"
#include "rest/watch/watch_event.h"
#include "store/store.h"

namespace cardea::rest {

class CatalogHolder;

// Whether the definition of a custom resource has changed, or gone, since `then`. Its watches end,
// as in kube-apiserver.
bool is_outdated(const catalog::Resource& then, const catalog::Catalog& now);

// The events of these changes, with their objects in the version of `resource`: all of them go to
// the webhook together.
Task<Result<std::vector<std::shared_ptr<WatchEvent>>>> converted_events(
    std::vector<store::EventPtr> changes, const catalog::WebhookConversion& webhooks,
    std::shared_ptr<const catalog::Catalog> catalog, const catalog::Resource& resource);

// The changes of one collection on their way to the watchers of one version whose objects a webhook
// converts. They are passed on in order. Those that arrive while the webhook is working wait, and
// are converted together afterwards. While the webhook fails it is asked again and again, and the
// watchers wait, as those of kube-apiserver do. Neither the store nor other watchers wait for it,
// and those who watch one object by its name do not wait for the conversion of others.
//
// Lives on one loop.
class ConvertedLine : public std::enable_shared_from_this<ConvertedLine> {
 public:
  struct Ends {
    std::function<void(const std::shared_ptr<WatchEvent>&)> pass;
    // No more events come: because of the webhook's error, which has lasted for too many changes,
    // or (null) since the definition has changed.
    std::function<void(const Error*)> end;
  };
  ConvertedLine(net::Loop& loop, const catalog::WebhookConversion& webhooks, CatalogHolder& current,
                std::shared_ptr<const catalog::Catalog> catalog, const catalog::Resource& resource,
                std::string name, Ends ends)
      : loop_(loop),
        webhooks_(webhooks),
        current_(current),
        catalog_(std::move(catalog)),
        resource_(resource),
        name_(std::move(name)),
        ends_(std::move(ends)) {}

  void push(store::EventPtr change);
  bool is_idle() const { return !is_running_ && waiting_.empty(); }
  const catalog::Resource& resource() const { return resource_; }
  const std::string& name() const { return name_; }
  void close();  // passes nothing on any more

  std::size_t watchers = 0;  // how many there are

 private:
  static Task<bool> run(std::shared_ptr<ConvertedLine> self);
  void start();
  void end(const Error* error);
  void try_again_later();

  net::Loop& loop_;
  const catalog::WebhookConversion& webhooks_;
  CatalogHolder& current_;
  const std::shared_ptr<const catalog::Catalog> catalog_;  // keeps `resource_` alive
  const catalog::Resource& resource_;
  const std::string name_;  // its watchers may be allowed only this object; empty: all
  const Ends ends_;
  std::deque<store::EventPtr> waiting_;
  bool is_running_ = false;
  bool is_closed_ = false;
  std::chrono::milliseconds wait_{0};  // before the next try
  std::unique_ptr<net::Timer> timer_;
};

}  // namespace cardea::rest
