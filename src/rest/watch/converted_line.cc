#include "rest/watch/converted_line.h"

#include <algorithm>

#include "rest/catalog_holder.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {

using json::Value;

namespace {

constexpr std::chrono::milliseconds kFirstWait{100}, kLongestWait{5'000};
constexpr std::size_t kMostWaiting = 10'000;
constexpr std::size_t kMostAtOnce = 250;  // with what each one replaced, one review

}  // namespace

Task<Result<std::vector<std::shared_ptr<WatchEvent>>>> converted_events(
    std::vector<store::EventPtr> changes, const catalog::WebhookConversion& webhooks,
    std::shared_ptr<const catalog::Catalog> catalog, const catalog::Resource& resource) {
  std::vector<Value> objects;
  for (const store::EventPtr& e : changes) {
    if (e->type == store::EventType::kPut) objects.push_back(parse_stored(*e->record));
    if (e->previous) objects.push_back(parse_stored(*e->previous, e->revision));
  }
  Result<std::vector<Value>> converted = co_await webhooks.convert(std::move(objects), resource,
                                                                   *catalog);
  if (!converted) co_return fail(converted.error());
  std::vector<std::shared_ptr<WatchEvent>> out;
  std::size_t next = 0;
  for (store::EventPtr& e : changes) {
    Value current, previous;
    if (e->type == store::EventType::kPut) current = std::move((*converted)[next++]);
    if (e->previous) previous = std::move((*converted)[next++]);
    out.push_back(std::make_shared<WatchEvent>(std::move(e)));
    out.back()->set_converted(resource, std::move(current), std::move(previous));
  }
  co_return out;
}

void ConvertedLine::push(store::EventPtr change) {
  if (is_closed_ || !is_key_of(change->record->key(), name_)) return;
  waiting_.push_back(std::move(change));
  if (waiting_.size() > kMostWaiting) {
    const Error slow = internal_error("the conversion webhook is too slow for this watch");
    return end(&slow);
  }
  if (!timer_ || !timer_->pending()) start();
}

void ConvertedLine::start() {
  if (is_closed_ || std::exchange(is_running_, true)) return;
  spawn(run(shared_from_this()), [self = shared_from_this()](bool) { self->is_running_ = false; });
}

void ConvertedLine::close() {
  is_closed_ = true;
  waiting_.clear();
  if (timer_) timer_->cancel();
}

void ConvertedLine::end(const Error* error) {
  const std::shared_ptr<ConvertedLine> held = shared_from_this();
  close();
  ends_.end(error);
}

void ConvertedLine::try_again_later() {
  wait_ = std::clamp(2 * wait_, kFirstWait, kLongestWait);
  if (!timer_)
    timer_ = std::make_unique<net::Timer>(loop_, [this] {
      // The timer must not destroy itself with the line.
      loop_.post([weak = weak_from_this()] {
        if (auto self = weak.lock()) self->start();
      });
    });
  timer_->start(wait_);
}

bool is_outdated(const catalog::Resource& then, const catalog::Catalog& now) {
  if (!then.is_custom) return false;
  const catalog::Resource* found = now.find(then.group, then.version, then.name);
  return found != &then && (!found || found->definition["spec"] != then.definition["spec"]);
}

Task<bool> ConvertedLine::run(std::shared_ptr<ConvertedLine> self) {
  while (!self->waiting_.empty()) {
    if (is_outdated(self->resource_, *self->current_.get())) {
      self->end(nullptr);
      break;
    }
    const std::size_t count = std::min(self->waiting_.size(), kMostAtOnce);
    std::vector<store::EventPtr> changes(
        self->waiting_.begin(), self->waiting_.begin() + static_cast<std::ptrdiff_t>(count));
    Result<std::vector<std::shared_ptr<WatchEvent>>> events = co_await converted_events(
        changes, self->webhooks_, self->catalog_, self->resource_);
    if (self->is_closed_) break;
    if (!events) {
      self->try_again_later();
      break;
    }
    self->wait_ = {};
    self->waiting_.erase(self->waiting_.begin(),
                         self->waiting_.begin() + static_cast<std::ptrdiff_t>(changes.size()));
    for (const std::shared_ptr<WatchEvent>& e : *events) self->ends_.pass(e);
  }
  co_return true;
}

}  // namespace cardea::rest
