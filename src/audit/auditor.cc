#include "audit/auditor.h"

#include <atomic>

namespace cardea::audit {

Auditor::Auditor(Policy policy, std::vector<std::unique_ptr<Outlet>> outlets,
                 MetricRegistry& metrics)
    : policy_(std::move(policy)),
      outlets_(std::move(outlets)),
      events_(metrics.counter({"apiserver_audit_event_total", "Audit events that were made."})),
      refused_(
          metrics.counter({"apiserver_audit_requests_rejected_total",
                           "Requests that were refused because they could not be recorded."})) {
  for (Level level : {Level::kNone, Level::kMetadata, Level::kRequest, Level::kRequestResponse})
    levels_[static_cast<std::size_t>(level)] = &metrics.counter(
        {"apiserver_audit_level_total", "Requests by the level the audit policy gave them."},
        {{"level", std::string(level_name(level))}});
  for (const auto& outlet : outlets_) blocks_ |= outlet->mode() != Mode::kBatch;
}

Auditor::~Auditor() = default;

Treatment Auditor::treat(const authz::User* user, const authz::RequestInfo& info) const {
  Treatment treatment = policy_.treat(user, info);
  levels_[static_cast<std::size_t>(treatment.level)]->add();
  return treatment;
}

void Auditor::record(EventPtr event, Outlet::Done done) const {
  events_.add();
  if (!blocks_) {
    for (const auto& outlet : outlets_) outlet->put(event, {});
    if (done) done(true);
    return;
  }
  // The last outlet reports; one more count is for this call itself, which must have put the
  // event everywhere first.
  struct Open {
    std::atomic<int> left{1};
    std::atomic<bool> is_kept{true};
    Outlet::Done done;
    void settle(bool kept) {
      if (!kept) is_kept.store(false);
      if (left.fetch_sub(1) == 1 && done) done(is_kept.load());
    }
  };
  auto open = std::make_shared<Open>();
  open->done = std::move(done);
  for (const auto& outlet : outlets_) {
    if (outlet->mode() == Mode::kBatch) {
      outlet->put(event, {});
      continue;
    }
    open->left.fetch_add(1);
    bool is_strict = outlet->mode() == Mode::kBlockingStrict;
    outlet->put(event, [open, is_strict](bool written) { open->settle(written || !is_strict); });
  }
  open->settle(true);
}

void Auditor::stop(std::chrono::milliseconds patience) {
  for (const auto& outlet : outlets_) outlet->stop(patience);
}

}  // namespace cardea::audit
