#include "catalog/kinds/batch/job_policy.h"

#include <algorithm>
#include <optional>
#include <set>

namespace cardea::catalog {
namespace {

json::FieldError plain_invalid(const Path& path, std::string detail) {
  json::FieldError error = json::invalid(path, Value(), std::move(detail));
  error.has_value = false;
  return error;
}

void validate_exit_codes(const Path& path, const Value& codes,
                         const std::set<std::string_view>& containers, FieldErrors& out) {
  std::string_view op = codes["operator"].as_string();
  if (op.empty())
    out.push_back(json::required(path / "operator", "valid values: [\"In\" \"NotIn\"]"));
  else
    check_one_of(path / "operator", codes["operator"], {"In", "NotIn"}, out);
  const Value& container = codes["containerName"];
  if (!container.is_null() && !containers.contains(container.as_string()))
    out.push_back(
        json::invalid(path / "containerName", container,
                      "must be one of the container or initContainer names in the pod template"));
  const Value& values = codes["values"];
  Path at = path / "values";
  if (values.empty()) {
    out.push_back(json::invalid(at, Value::array(), "at least one value is required"));
    return;
  }
  if (values.size() > 255) {
    out.push_back(json::too_many(at, static_cast<int>(values.size()), 255));
    return;
  }
  bool ordered = true;
  std::set<std::int64_t> seen;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (op == "In" && values[i].as_int() == 0)
      out.push_back(json::invalid(at.index(i), values[i], "must not be 0 for the In operator"));
    if (!seen.insert(values[i].as_int()).second)
      out.push_back(json::duplicate(at.index(i), values[i]));
    if (i > 0 && values[i].as_int() < values[i - 1].as_int()) ordered = false;
  }
  if (!ordered) out.push_back(json::invalid(at, values, "must be ordered"));
}

void validate_conditions(const Path& path, const Value& conditions, FieldErrors& out) {
  if (conditions.size() > 20) {
    out.push_back(json::too_many(path, static_cast<int>(conditions.size()), 20));
    return;
  }
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    Path at = path.index(i);
    std::string_view type = conditions[i]["type"].as_string();
    complain(at / "type", type, qualified_name(type), out);
    if (conditions[i]["status"].as_string().empty())
      out.push_back(
          json::required(at / "status", "valid values: [\"False\" \"True\" \"Unknown\"]"));
    else
      check_one_of(at / "status", conditions[i]["status"], {"False", "True", "Unknown"}, out);
  }
}

void validate_rule(const Path& path, const Value& rule, bool per_index,
                   const std::set<std::string_view>& containers, FieldErrors& out) {
  std::string_view action = rule["action"].as_string();
  if (action.empty())
    out.push_back(json::required(path / "action",
                                 "valid values: [\"Count\" \"FailIndex\" \"FailJob\" \"Ignore\"]"));
  else if (action == "FailIndex" && !per_index)
    out.push_back(json::invalid(path / "action", rule["action"],
                                "requires the backoffLimitPerIndex to be set"));
  else
    check_one_of(path / "action", rule["action"], {"Count", "FailIndex", "FailJob", "Ignore"}, out);
  bool codes = !rule["onExitCodes"].is_null(), conditions = !rule["onPodConditions"].empty();
  if (codes && conditions)
    out.push_back(
        plain_invalid(path, "specifying both OnExitCodes and OnPodConditions is not supported"));
  else if (!codes && !conditions)
    out.push_back(
        plain_invalid(path, "specifying one of OnExitCodes and OnPodConditions is required"));
  if (codes) validate_exit_codes(path / "onExitCodes", rule["onExitCodes"], containers, out);
  if (conditions) validate_conditions(path / "onPodConditions", rule["onPodConditions"], out);
}

// "1,3-5": the number of indexes, or the error.
std::optional<std::string> indexes_error(std::string_view text, std::int64_t completions,
                                         std::int64_t& count) {
  count = 0;
  std::optional<std::int64_t> previous;
  for (std::string_view part : split(text, ',')) {
    auto bounds = split(part, '-');
    if (bounds.size() > 2)
      return cat("the fragment ", quoted(part),
                 " violates the requirement that an index interval can have at most two parts "
                 "separated by '-'");
    std::int64_t numbers[2] = {0, 0};
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      auto number = parse_int(bounds[i]);
      if (!number) return cat("cannot convert string to integer for index: ", quoted(bounds[i]));
      if (*number >= completions) return cat("too large index: ", quoted(bounds[i]));
      if (previous && *previous >= *number)
        return cat("non-increasing order, previous: ", *previous, ", current: ", *number);
      previous = *number;
      numbers[i] = *number;
    }
    count += bounds.size() == 2 ? numbers[1] - numbers[0] + 1 : 1;
  }
  return std::nullopt;
}

void validate_success_rule(const Path& path, const Value& rule, std::int64_t completions,
                           FieldErrors& out) {
  const Value& indexes = rule["succeededIndexes"];
  const Value& wanted = rule["succeededCount"];
  if (indexes.is_null() && wanted.is_null()) {
    out.push_back(json::required(
        path, "at least one of succeededCount or succeededIndexes must be specified"));
    return;
  }
  std::int64_t count = 0;
  bool usable = false;
  if (!indexes.is_null()) {
    auto error = indexes_error(indexes.as_string(), completions, count);
    usable = !error;
    if (error)
      out.push_back(json::invalid(path / "succeededIndexes", indexes,
                                  cat("error parsing succeededIndexes: ", *error)));
  }
  if (wanted.is_null()) return;
  check_not_negative(path / "succeededCount", wanted, out);
  if (wanted.as_int() > completions)
    out.push_back(json::invalid(path / "succeededCount", wanted,
                                cat("must be less than or equal to ", completions,
                                    " (the number of specified completions)")));
  if (usable && wanted.as_int() > count)
    out.push_back(
        json::invalid(path / "succeededCount", wanted,
                      cat("must be less than or equal to ", count,
                          " (the number of indexes in the specified succeededIndexes field)")));
}

}  // namespace

void default_pod_failure_policy(Value& spec) {
  if (spec["podFailurePolicy"]["rules"].empty()) return;
  Value& rules = spec.member("podFailurePolicy").member("rules");
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (rules[i]["onPodConditions"].empty()) continue;
    Value& conditions = rules.item(i).member("onPodConditions");
    for (std::size_t j = 0; j < conditions.size(); ++j)
      default_to(conditions.item(j), "status", "True");
  }
}

void validate_pod_failure_policy(const Value& spec, const Path& spec_path, FieldErrors& out) {
  const Value& policy = spec["podFailurePolicy"];
  if (policy.is_null()) return;
  Path path = spec_path / "podFailurePolicy" / "rules";
  if (policy["rules"].size() > 20) {
    out.push_back(json::too_many(path, static_cast<int>(policy["rules"].size()), 20));
    return;
  }
  std::set<std::string_view> containers;
  for (std::string_view list : {"containers", "initContainers"})
    for (const Value& c : spec["template"]["spec"][list].items())
      containers.insert(c["name"].as_string());
  for (std::size_t i = 0; i < policy["rules"].size(); ++i)
    validate_rule(path.index(i), policy["rules"][i], !spec["backoffLimitPerIndex"].is_null(),
                  containers, out);
}

void validate_success_policy(const Value& spec, const Path& spec_path, FieldErrors& out) {
  const Value& rules = spec["successPolicy"]["rules"];
  Path path = spec_path / "successPolicy" / "rules";
  if (rules.empty())
    out.push_back(json::required(
        path, "at least one rules must be specified when the successPolicy is specified"));
  if (rules.size() > 20) out.push_back(json::too_many(path, static_cast<int>(rules.size()), 20));
  for (std::size_t i = 0; i < rules.size(); ++i)
    validate_success_rule(path.index(i), rules[i], spec["completions"].as_int(), out);
}

Shown shown_pod_failure_policy(const Value& policy) {
  if (policy.is_null()) return "null";
  std::string rules;
  for (const Value& rule : policy["rules"].items()) {
    const Value& codes = rule["onExitCodes"];
    std::string conditions;
    for (const Value& c : rule["onPodConditions"].items())
      conditions += cat(
          conditions.empty() ? "" : ",",
          shown_struct({{"Type", shown_or(c["type"], "")}, {"Status", shown_or(c["status"], "")}}));
    rules += cat(
        rules.empty() ? "" : ",",
        shown_struct(
            {{"Action", shown_or(rule["action"], "")},
             {"OnExitCodes", codes.is_null()
                                 ? "null"
                                 : shown_struct({{"ContainerName", shown(codes["containerName"])},
                                                 {"Operator", shown_or(codes["operator"], "")},
                                                 {"Values", shown(codes["values"])}})},
             {"OnPodConditions", conditions.empty() ? "null" : cat("[", conditions, "]")}}));
  }
  return shown_struct({{"Rules", rules.empty() ? "null" : cat("[", rules, "]")}});
}

Shown shown_success_policy(const Value& policy) {
  if (policy.is_null()) return "null";
  std::string rules;
  for (const Value& rule : policy["rules"].items())
    rules += cat(rules.empty() ? "" : ",",
                 shown_struct({{"SucceededIndexes", shown(rule["succeededIndexes"])},
                               {"SucceededCount", shown(rule["succeededCount"])}}));
  return shown_struct({{"Rules", rules.empty() ? "null" : cat("[", rules, "]")}});
}

}  // namespace cardea::catalog
