#include "catalog/kinds/apps/workload.h"
#include "catalog/kinds/batch/cron_schedule.h"
#include "catalog/kinds/batch/job.h"
#include "catalog/kinds/batch/job_policy.h"
#include "catalog/kinds/batch/time_zones.h"
#include "catalog/kinds/core/pod_defaults.h"
#include "catalog/kinds/core/pod_validation.h"
#include "catalog/kinds/object_meta.h"
#include "catalog/kinds/strategies.h"

namespace cardea::catalog {
namespace {

// Jobs are named after their CronJob, a dash and ten digits.
constexpr int kLongestName = 52;

void defaults(Value& object, const StrategyContext&) {
  Value& spec = object_member(object, "spec");
  default_to(spec, "concurrencyPolicy", "Allow");
  set_default(spec, "suspend", false);
  set_default(spec, "successfulJobsHistoryLimit", 3);
  set_default(spec, "failedJobsHistoryLimit", 1);
  // The Job gets its defaults when it is created; here only its pods get them.
  Value& job = object_member(object_member(spec, "jobTemplate"), "spec");
  default_pod_template(object_member(job, "template"));
  default_pod_failure_policy(job);
}

void validate_schedule(const Value& spec, FieldErrors& out) {
  const Value& schedule = spec["schedule"];
  std::string_view text = schedule.as_string();
  if (text.empty()) {
    out.push_back(json::required("spec.schedule"));
  } else {
    if (text.find("TZ") != text.npos)
      out.push_back(
          json::invalid("spec.schedule", schedule,
                        "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"));
    else if (std::string error = cron_schedule_error(text); !error.empty())
      out.push_back(json::invalid("spec.schedule", schedule, error));
  }
}

void validate_zone(const Value& zone, FieldErrors& out) {
  if (zone.is_null()) return;
  std::string_view name = zone.as_string();
  auto wrong = [&](std::string why) {
    out.push_back(json::invalid("spec.timeZone", zone, std::move(why)));
  };
  if (name.empty()) return wrong("timeZone must be nil or non-empty string");
  if (equals_ignoring_case(name, "Local"))
    return wrong(
        "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones");
  if (!is_time_zone(name)) wrong(cat("unknown time zone ", name));
}

void validate_job_template(const Value& job, const StrategyContext& context, FieldErrors& out) {
  Path path = "spec.jobTemplate.spec";
  validate_job_spec(job["spec"], path, context, out);
  if (!job["spec"]["selector"].is_null())
    out.push_back(invalid_shown(path / "selector", shown_selector(job["spec"]["selector"]),
                                "`selector` will be auto-generated"));
  if (job["spec"]["manualSelector"].as_bool())
    out.push_back(json::not_supported(path / "manualSelector", true, {"nil", "false"}));
}

void validate_spec(const Value& spec, const StrategyContext& context, FieldErrors& out) {
  validate_schedule(spec, out);
  check_not_negative("spec.startingDeadlineSeconds", spec["startingDeadlineSeconds"], out);
  validate_zone(spec["timeZone"], out);
  check_one_of("spec.concurrencyPolicy", spec["concurrencyPolicy"], {"Allow", "Forbid", "Replace"},
               out);
  validate_job_template(spec["jobTemplate"], context, out);
  check_not_negative("spec.successfulJobsHistoryLimit", spec["successfulJobsHistoryLimit"], out);
  check_not_negative("spec.failedJobsHistoryLimit", spec["failedJobsHistoryLimit"], out);
}

FieldErrors validate(const Value& object, const StrategyContext& context) {
  FieldErrors out;
  validate_kind_meta(object, true, name_is_dns_subdomain, out);
  validate_spec(object["spec"], context, out);
  const Value& name = object["metadata"]["name"];
  if (name.as_string().size() > static_cast<std::size_t>(kLongestName))
    out.push_back(json::invalid("metadata.name", name,
                                cat("must be no more than ", kLongestName, " characters")));
  return out;
}

FieldErrors validate_update(const Value& object, const Value& old, const StrategyContext& context) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  validate_spec(object["spec"], context, out);
  return out;
}

std::vector<std::string> warnings(const Value& object, const Value* old, const StrategyContext&) {
  std::vector<std::string> out;
  if (old == nullptr) warn_about_pod_name(object, out);
  const Value& pod_template = object["spec"]["jobTemplate"]["spec"]["template"];
  if (old == nullptr ||
      !semantically_equal(pod_template, (*old)["spec"]["jobTemplate"]["spec"]["template"]))
    warn_about_pod_template(pod_template, "spec.jobTemplate.spec.template", out);
  return out;
}

}  // namespace

const Strategy& cron_job_strategy() {
  static const Strategy strategy{
      .defaults = defaults,
      .prepare_for_create = drop_status,
      .prepare_for_update = keep_status,
      .validate_create = validate,
      .validate_update = validate_update,
      .warnings = warnings,
      .prepare_for_status_update = keep_spec,
      .has_generation = true,
  };
  return strategy;
}

}  // namespace cardea::catalog
