#include "app/audit.h"

#include "app/data_directory.h"
#include "audit/log_sink.h"
#include "audit/webhook_sink.h"
#include "base/strings.h"

namespace cardea::app {
namespace {

constexpr int kWebhookThreads = 4;  // batches on their way at once

audit::OutletOptions outlet_options(std::string name, const AuditBackendOptions& o) {
  audit::OutletOptions out;
  out.name = std::move(name);
  out.mode = o.mode == "batch"      ? audit::Mode::kBatch
             : o.mode == "blocking" ? audit::Mode::kBlocking
                                    : audit::Mode::kBlockingStrict;
  out.buffer_size = static_cast<std::size_t>(o.batch_buffer_size);
  out.max_batch = static_cast<std::size_t>(o.batch_max_size);
  out.max_wait = o.batch_max_wait;
  out.throttles = o.batch_throttle_enable;
  out.throttle_qps = o.batch_throttle_qps;
  out.throttle_burst = o.batch_throttle_burst;
  out.truncates = o.truncate_enabled;
  out.max_event_bytes = static_cast<std::size_t>(o.truncate_max_event_size);
  out.max_batch_bytes = static_cast<std::size_t>(o.truncate_max_batch_size);
  return out;
}

Result<audit::Policy> read_policy(const std::string& file) {
  auto text = read_file(file);
  if (!text) return fail(bad_request(cat("loading audit policy file: ", text.error().message)));
  auto policy = audit::Policy::load(*text);
  if (!policy)
    return fail(bad_request(
        cat("loading audit policy file: ", policy.error().message, ": from file ", file)));
  return policy;
}

}  // namespace

Result<std::unique_ptr<audit::Auditor>> make_auditor(const AuditOptions& o,
                                                     const upstream::WebhookSurroundings& s,
                                                     const Log& log) {
  if (o.policy_file.empty()) return nullptr;
  auto policy = read_policy(o.policy_file);  // a wrong value is refused even though it would not be
                                             // used
  if (!policy) return fail(policy.error());
  if (!o.is_on()) return nullptr;
  std::vector<std::unique_ptr<audit::Outlet>> outlets;
  auto log_line = log.lines(LogLevel::kError);
  if (!o.log_path.empty()) {
    auto sink = audit::make_log_sink({.path = o.log_path,
                                      .max_bytes = static_cast<std::uint64_t>(o.log_maxsize) << 20,
                                      .max_backups = o.log_maxbackup,
                                      .max_age_days = o.log_maxage,
                                      .compresses = o.log_compress},
                                     s.clock, log_line);
    if (!sink) return fail(sink.error());
    audit::OutletOptions options = outlet_options("log", o.log);
    options.is_legacy = o.log_format == "legacy";
    outlets.push_back(
        std::make_unique<audit::Outlet>(std::move(options), std::move(*sink), s.metrics, log_line));
  }
  if (!o.webhook_config_file.empty()) {
    auto sink = audit::make_webhook_sink(
        {.config_file = o.webhook_config_file, .initial_backoff = o.webhook_initial_backoff},
        s.loop, s.dialer, s.random, s.files);
    if (!sink) return fail(bad_request(cat("initializing audit webhook: ", sink.error().message)));
    audit::OutletOptions options = outlet_options("webhook", o.webhook);
    options.threads = kWebhookThreads;
    outlets.push_back(
        std::make_unique<audit::Outlet>(std::move(options), std::move(*sink), s.metrics, log_line));
  }
  return std::make_unique<audit::Auditor>(std::move(*policy), std::move(outlets), s.metrics);
}

}  // namespace cardea::app
