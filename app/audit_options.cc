#include "app/audit_options.h"

#include <CLI/CLI.hpp>

#include "base/strings.h"
#include "base/time_parse.h"

namespace cardea::app {
namespace {

constexpr const char* kGroup = "Audit";

std::unexpected<Error> wrong(std::string why) {
  return fail(bad_request(std::move(why)));
}

void declare_backend(CLI::App& app, std::string_view name, AuditBackendOptions& o) {
  auto option = [&](std::string_view flag, auto& to, const char* what, const char* help) {
    app.add_option(cat("--audit-", name, "-", flag), to, help)
        ->type_name(what)
        ->group(kGroup)
        ->capture_default_str();
  };
  auto flag = [&](std::string_view name_of, bool& to, const char* help) {
    app.add_flag(cat("--audit-", name, "-", name_of), to, help)
        ->group(kGroup)
        ->capture_default_str();
  };
  option("mode", o.mode, "MODE",
         "batch: events wait in a queue. blocking: a request waits until its events are written. "
         "blocking-strict: a request is also refused when its arrival cannot be written");
  option("version", o.version, "VERSION", "the version of the events; there is only one");
  option("batch-buffer-size", o.batch_buffer_size, "N",
         "how many events may wait; the server counts more as lost");
  option("batch-max-size", o.batch_max_size, "N", "how many events the server writes at once");
  option("batch-max-wait", o.batch_max_wait_text, "DURATION",
         "how long a batch that is not full waits for more");
  flag("batch-throttle-enable", o.batch_throttle_enable, "whether the server slows batches down");
  option("batch-throttle-qps", o.batch_throttle_qps, "NUMBER",
         "how many batches the server writes each second, on average");
  option("batch-throttle-burst", o.batch_throttle_burst, "N",
         "how many batches the server writes at once after a pause");
  flag("truncate-enabled", o.truncate_enabled,
       "whether the server leaves out the objects of long events");
  option("truncate-max-event-size", o.truncate_max_event_size, "BYTES",
         "the size from which an event is long");
  option("truncate-max-batch-size", o.truncate_max_batch_size, "BYTES",
         "the size from which the server splits a batch");
}

Result<void> complete(AuditBackendOptions& o, std::string_view name) {
  if (o.mode != "batch" && o.mode != "blocking" && o.mode != "blocking-strict")
    return wrong(cat("invalid audit ", name, " mode ", o.mode,
                     ", allowed modes are \"batch,blocking,blocking-strict\""));
  if (o.version != "audit.k8s.io/v1")
    return wrong("invalid group version, allowed versions are [\"audit.k8s.io/v1\"]");
  auto wait = parse_duration(o.batch_max_wait_text.empty() ? "0s" : o.batch_max_wait_text);
  if (!wait || *wait < std::chrono::nanoseconds(0))
    return wrong(
        cat("--audit-", name, "-batch-max-wait `", o.batch_max_wait_text, "` is not a duration"));
  o.batch_max_wait = *wait;
  if (o.batch_buffer_size <= 0)
    return wrong(cat("invalid audit batch ", name, " buffer size ", o.batch_buffer_size,
                     ", must be a positive number"));
  if (o.batch_max_size <= 0)
    return wrong(cat("invalid audit batch ", name, " max batch size ", o.batch_max_size,
                     ", must be a positive number"));
  if (o.batch_throttle_enable && !(o.batch_throttle_qps > 0))
    return wrong(cat("invalid audit batch ", name, " throttle QPS ", go_float(o.batch_throttle_qps),
                     ", must be a positive number"));
  if (o.batch_throttle_enable && o.batch_throttle_burst <= 0)
    return wrong(cat("invalid audit batch ", name, " throttle burst ", o.batch_throttle_burst,
                     ", must be a positive number"));
  if (o.truncate_enabled && o.truncate_max_event_size <= 0)
    return wrong(cat("invalid audit truncate ", name, " max event size ", o.truncate_max_event_size,
                     ", must be a positive number"));
  if (o.truncate_enabled && o.truncate_max_batch_size < o.truncate_max_event_size)
    return wrong(cat("invalid audit truncate ", name, " max batch size ", o.truncate_max_batch_size,
                     ", must be greater than max event size (", o.truncate_max_event_size, ")"));
  return {};
}

}  // namespace

std::string AuditOptions::warning() const {
  bool has_backend = !log_path.empty() || !webhook_config_file.empty();
  if (has_backend && policy_file.empty())
    return "no audit policy file is given: nothing is audited";
  if (!has_backend && !policy_file.empty())
    return "neither --audit-log-path nor --audit-webhook-config-file is given: nothing is audited";
  return "";
}

void declare_audit(CLI::App& app, AuditOptions& o) {
  auto option = [&](const char* flag, auto& to, const char* what, const char* help) {
    app.add_option(flag, to, help)->type_name(what)->group(kGroup)->capture_default_str();
  };
  option("--audit-policy-file", o.policy_file, "FILE",
         "an audit.k8s.io/v1 Policy: which requests the server records, and how much of them");
  option("--audit-log-path", o.log_path, "FILE",
         "the file for events, one on each line; - for standard output");
  option("--audit-log-format", o.log_format, "FORMAT", "json, or legacy for a line of text");
  option("--audit-log-maxage", o.log_maxage, "DAYS",
         "the age from which the server removes older files; 0: it removes none");
  option("--audit-log-maxbackup", o.log_maxbackup, "N",
         "how many older files the server keeps; 0: all");
  option("--audit-log-maxsize", o.log_maxsize, "MEGABYTES",
         "the size from which the server begins a new file; 0: never");
  app.add_flag("--audit-log-compress", o.log_compress,
               "whether the server compresses older files with gzip")
      ->group(kGroup);
  declare_backend(app, "log", o.log);
  option("--audit-webhook-config-file", o.webhook_config_file, "FILE",
         "a kubeconfig: the webhook that the server sends events to");
  option("--audit-webhook-initial-backoff", o.webhook_initial_backoff_text, "DURATION",
         "how long the server waits before it sends a batch again");
  declare_backend(app, "webhook", o.webhook);
}

Result<void> complete_audit(AuditOptions& o) {
  if (o.log_format != "json" && o.log_format != "legacy")
    return wrong(
        cat("invalid audit log format ", o.log_format, ", allowed formats are \"legacy,json\""));
  struct Row {
    std::string_view flag;
    int value;
  };
  for (const Row& row : {Row{"maxage", o.log_maxage}, Row{"maxbackup", o.log_maxbackup},
                         Row{"maxsize", o.log_maxsize}})
    if (row.value < 0)
      return wrong(cat("--audit-log-", row.flag, " ", row.value, " can't be a negative number"));
  auto backoff = parse_duration(o.webhook_initial_backoff_text);
  if (!backoff || *backoff < std::chrono::nanoseconds(0))
    return wrong(cat("--audit-webhook-initial-backoff `", o.webhook_initial_backoff_text,
                     "` is not a duration"));
  o.webhook_initial_backoff = *backoff;
  if (auto ok = complete(o.log, "log"); !ok) return ok;
  return complete(o.webhook, "webhook");
}

}  // namespace cardea::app
