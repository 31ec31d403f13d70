#include "catalog/kinds/batch/job_status.h"

#include <set>

namespace cardea::catalog {
namespace {

bool holds(const Value& status, std::string_view type) {
  for (const Value& c : status["conditions"].items())
    if (c["type"].as_string() == type) return c["status"].as_string() == "True";
  return false;
}

void validate_uncounted(const Value& pods, FieldErrors& out) {
  std::set<std::string_view> seen;
  for (std::string_view list : {"succeeded", "failed"})
    for (std::size_t i = 0; i < pods[list].size(); ++i) {
      Path at = (Path("status.uncountedTerminatedPods") / list).index(i);
      std::string_view uid = pods[list][i].as_string();
      if (uid.empty())
        out.push_back(json::invalid(at, "", "must not be empty"));
      else if (!seen.insert(uid).second)
        out.push_back(json::duplicate(at, uid));
    }
}

void conflict(std::string_view why, FieldErrors& out) {
  json::FieldError error = json::invalid("status.conditions", Value(), std::string(why));
  error.has_value = false;
  out.push_back(error);
}

void validate_end(const Value& status, FieldErrors& out) {
  bool complete = holds(status, "Complete"), failed = holds(status, "Failed");
  const Value& start = status["startTime"];
  const Value& end = status["completionTime"];
  if (complete && failed) conflict("cannot set Complete=True and Failed=true conditions", out);
  if (complete && end.is_null())
    out.push_back(
        json::required("status.completionTime", "completionTime is required for Complete jobs"));
  if (!complete && !end.is_null())
    out.push_back(
        json::invalid("status.completionTime", end,
                      "cannot set completionTime when there is no Complete=True condition"));
  if (failed && !holds(status, "FailureTarget"))
    conflict("cannot set Failed=True condition without the FailureTarget=true condition", out);
  if (complete && !holds(status, "SuccessCriteriaMet"))
    conflict("cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
             out);
  if (holds(status, "FailureTarget") && holds(status, "SuccessCriteriaMet"))
    conflict("cannot set FailureTarget=True and SuccessCriteriaMet=true conditions", out);
  if ((complete || failed) && status["active"].as_int() > 0)
    out.push_back(
        json::invalid("status.active", status["active"], "active>0 is invalid for finished job"));
  if ((complete || failed) && start.is_null())
    out.push_back(json::required("status.startTime", "startTime is required for finished job"));
  if (!start.is_null() && !end.is_null() && end.as_string() < start.as_string())
    out.push_back(
        json::invalid("status.completionTime", end, "must be equal to or after `startTime`"));
}

}  // namespace

void validate_job_status_update(const Value& object, const Value& old, FieldErrors& out) {
  const Value& status = object["status"];
  const Value& before = old["status"];
  const Value& spec = object["spec"];
  for (std::string_view name : {"active", "succeeded", "failed", "ready", "terminating"})
    check_not_negative(Path("status") / name, status[name], out);
  validate_uncounted(status["uncountedTerminatedPods"], out);
  validate_end(status, out);
  for (std::string_view name : {"failed", "succeeded"})
    if (status[name].as_int() < before[name].as_int())
      out.push_back(json::invalid(Path("status") / name, Value(status[name].as_int()),
                                  cat("cannot decrease the ", name, " counter")));
  if (spec["completionMode"].as_string() != "Indexed" &&
      !status["completedIndexes"].as_string().empty())
    out.push_back(
        json::invalid("status.completedIndexes", status["completedIndexes"],
                      "cannot set non-empty completedIndexes when non-indexed completion mode"));
  if (spec["backoffLimitPerIndex"].is_null() && !status["failedIndexes"].is_null())
    out.push_back(
        json::invalid("status.failedIndexes", status["failedIndexes"],
                      "cannot set non-null failedIndexes when backoffLimitPerIndex is null"));
  if (status["ready"].as_int() > status["active"].as_int() && status["active"].as_int() >= 0)
    out.push_back(
        json::invalid("status.ready", status["ready"], "cannot set more ready pods than active"));
}

}  // namespace cardea::catalog
