#include "admission/plugin.h"

#include <algorithm>

#include "admission/admission_metrics.h"

namespace cardea::admission {

namespace {

// Measures one plugin after the other.
class Lap {
 public:
  Lap(const Durations* durations, Durations::Step step, Operation operation)
      : durations_(durations), step_(step), operation_(operation) {}
  void begin() {
    if (durations_) watch_ = Stopwatch();
  }
  void end(std::size_t plugin, bool is_rejected) const {
    if (durations_) durations_->observe(plugin, step_, operation_, is_rejected, watch_.elapsed());
  }

 private:
  const Durations* durations_;
  Durations::Step step_;
  Operation operation_;
  Stopwatch watch_;
};

// And all of them.
class Whole {
 public:
  Whole(const Durations* durations, Durations::Step step, Operation operation)
      : durations_(durations), step_(step), operation_(operation) {}
  void end(bool is_rejected) const {
    if (durations_) durations_->observe_all(step_, operation_, is_rejected, watch_.elapsed());
  }

 private:
  const Durations* durations_;
  Durations::Step step_;
  Operation operation_;
  Stopwatch watch_;
};

}  // namespace

std::string_view operation_name(Operation operation) {
  switch (operation) {
    case Operation::kCreate:
      return "CREATE";
    case Operation::kUpdate:
      return "UPDATE";
    case Operation::kDelete:
      return "DELETE";
    case Operation::kConnect:
      return "CONNECT";
  }
  return "";
}

void AuditAnnotations::add(std::string_view key, std::string_view value, bool needs_request_level) {
  if (entries.empty()) entries.reserve(4);
  if (std::ranges::find(entries, key, &Entry::key) == entries.end())
    entries.push_back({std::string(key), std::string(value), needs_request_level});
}

void AuditAnnotations::set(std::string_view key, std::string_view value) {
  auto at = std::ranges::find(entries, key, &Entry::key);
  if (at == entries.end()) at = entries.insert(at, {.key = std::string(key), .value = {}});
  *at = {.key = std::move(at->key), .value = std::string(value), .replaces = true};
}

void Reinvocation::Callers::changed() {
  for (std::string& who : called_)
    if (!contains(again_, who)) again_.push_back(std::move(who));
  called_.clear();
}

bool Reinvocation::Callers::contains(const std::vector<std::string>& list, std::string_view who) {
  return std::ranges::find(list, who) != list.end();
}

json::Value Review::by_webhook(const json::Value& object_of_request,
                               const catalog::Resource& as) const {
  if (!conversions) conversions = std::make_shared<catalog::Conversions>();
  const json::Value* known = conversions->find(object_of_request, as);
  return known ? *known : json::Value();
}

Task<Result<void>> Review::wait_for_conversions() const {
  if (!is_waiting()) co_return Result<void>{};
  if (!webhooks) co_return fail(internal_error("this server calls no conversion webhooks"));
  const std::shared_ptr<catalog::Conversions> held = conversions;
  Result<void> fetched = co_await held->fetch(*webhooks, catalog);
  co_return fetched;
}

Task<Result<void>> Plugin::mutate(Review&) const {
  co_return Result<void>{};
}
Task<Result<void>> Plugin::validate(const Review&) const {
  co_return Result<void>{};
}

bool Chain::handles(const Review& review) const {
  for (const auto& plugin : plugins_)
    if (plugin->handles(review)) return true;
  return false;
}

Chain::Chain(std::vector<std::unique_ptr<Plugin>> plugins, MetricRegistry* metrics)
    : plugins_(std::move(plugins)),
      durations_(metrics ? std::make_unique<const Durations>(*metrics, plugins_) : nullptr) {}
Chain::~Chain() = default;

Task<Result<void>> Chain::mutate_once(Review& review) const {
  Lap lap(durations_.get(), Durations::Step::kAdmit, review.operation);
  for (std::size_t i = 0; i < plugins_.size(); ++i) {
    if (!plugins_[i]->handles(review)) continue;
    lap.begin();
    Result<void> done = co_await plugins_[i]->mutate(review);
    lap.end(i, !done);
    if (!done) review.is_refusal_plain = plugins_[i]->refuses_plainly();
    if (!done) co_return done;
  }
  co_return Result<void>{};
}

Task<Result<void>> Chain::mutate(Review& review) const {
  const Whole whole(durations_.get(), Durations::Step::kAdmit, review.operation);
  Result<void> done = co_await mutate_once(review);
  if (done && review.reinvocation.is_wanted && !review.reinvocation.is_second) {
    review.reinvocation.is_second = true;
    done = co_await mutate_once(review);
  }
  whole.end(!done);
  co_return done;
}

Task<Result<void>> Chain::validate(const Review& review) const {
  const Whole whole(durations_.get(), Durations::Step::kValidate, review.operation);
  Lap lap(durations_.get(), Durations::Step::kValidate, review.operation);
  Result<void> done;
  for (std::size_t i = 0; i < plugins_.size() && done; ++i) {
    if (!plugins_[i]->handles(review)) continue;
    lap.begin();
    done = co_await plugins_[i]->validate(review);
    lap.end(i, !done);
    if (!done) review.is_refusal_plain = plugins_[i]->refuses_plainly();
  }
  whole.end(!done);
  co_return done;
}

}  // namespace cardea::admission
