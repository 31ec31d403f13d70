#pragma once
#include <chrono>
#include <memory>
#include <vector>

#include "audit/event.h"
#include "audit/outlet.h"
#include "audit/policy.h"
#include "base/metrics.h"

namespace cardea::audit {

// The audit policy and its outputs. Shared between threads; made before the first request.
class Auditor {
 public:
  // `metrics` outlive it.
  Auditor(Policy policy, std::vector<std::unique_ptr<Outlet>> outlets, MetricRegistry& metrics);
  ~Auditor();

  // How a request is treated; counted by level.
  Treatment treat(const authz::User* user, const authz::RequestInfo& info) const;

  // Whether requests wait for their events to be written.
  bool blocks() const { return blocks_; }
  // Passes the event to every outlet. `done` is called when all blocking outlets have written it,
  // with false when a strict one could not. It may be called inside this call or on another
  // thread.
  void record(EventPtr event, Outlet::Done done) const;
  // A request was refused because it could not be recorded.
  void count_refusal() const { refused_.add(); }

  void stop(std::chrono::milliseconds patience);

 private:
  const Policy policy_;
  std::vector<std::unique_ptr<Outlet>> outlets_;
  bool blocks_ = false;
  Counter &events_, &refused_;
  Counter* levels_[4];
};

}  // namespace cardea::audit
