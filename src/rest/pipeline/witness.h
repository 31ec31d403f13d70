#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "rest/audit_trail.h"
#include "rest/pipeline/pipeline.h"
#include "rest/present/presentation.h"

namespace cardea::audit {
class Auditor;
}

namespace cardea::rest::pipeline {

// The receivers of facts about every request. They must outlive the requests.
struct Watchers {
  // Every request and impersonation at level debug; at level warning the reasons why credentials
  // were refused or conditions failed, which clients do not see. Null: nothing is logged.
  const Log* log = nullptr;
  const audit::Auditor* auditor = nullptr;  // null: nothing is audited
  TraceSink* traces = nullptr;              // null: nothing is traced
};

Answer too_late();  // for a request that takes too long

// Observes one request from its stations to its answer, and informs metrics, log, audit and
// the history of decisions.
class Witness {
 public:
  Witness(const Watchers& watchers, Services& services, std::shared_ptr<http::Exchange> exchange);
  ~Witness();
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

  // Reads the progress of the request. False: the request must not continue, because it could not
  // be recorded.
  Task<bool> saw(const Journey& journey);
  // The decision was made again: this is the one that counts.
  void saw_again(const Journey& journey);
  // The facts that a call leaves for metrics and audit.
  void saw(const Call& call);

  // Sends the answer, in the form that `frame` says.
  void respond(Result<Answer> answer, const Journey& journey, const authz::RequestInfo& info,
               const std::vector<std::string>& warnings = {});
  // The request has taken too long: the client is told so. An answer that comes later goes into the
  // audit log only. Loop thread.
  void give_up(const Journey& journey, const authz::RequestInfo& info);
  bool has_given_up() const { return has_given_up_; }
  // The answer is being sent already.
  void streams(const Journey& journey, const Call& call, int status);

  Frame frame;
  bool is_refusal = false;
  const authz::User* user = nullptr;  // the user for whom the request is served, when it is known
  const fairness::Flow* flow = nullptr;  // of its seat, as long as that is held
  const std::shared_ptr<AuditTrail>& trail() const { return trail_; }

 private:
  void log(const Journey& journey, int status) const;
  void remember(const Journey& journey, const authz::RequestInfo& info, int status) const;
  void hold(http::Response& response);
  void begin_trace(const Journey& journey);
  RequestSeries& series_of(const Journey& journey, const authz::RequestInfo& info,
                           const catalog::Resource* resource) const;

  const Watchers& watchers_;
  Services& services_;
  std::shared_ptr<http::Exchange> exchange_;
  Stopwatch watch_;
  std::atomic<std::int64_t>* in_flight_ = nullptr;  // where this request is counted while it runs
  std::shared_ptr<AuditTrail> trail_;               // null where nothing is audited
  std::shared_ptr<Trace> trace_;                    // null where nothing is traced
  bool is_conditional_ = false;                     // its decision depends on what it writes
  std::string reason_;                              // of a refusal by authorization
  bool is_answered_ = false;
  bool has_given_up_ = false;
};

}  // namespace cardea::rest::pipeline
