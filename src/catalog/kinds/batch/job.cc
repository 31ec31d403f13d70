#include "catalog/kinds/batch/job.h"

#include <algorithm>
#include <set>

#include "catalog/kinds/apps/workload.h"
#include "catalog/kinds/batch/job_policy.h"
#include "catalog/kinds/batch/job_status.h"
#include "catalog/kinds/core/go_pod.h"
#include "catalog/kinds/core/pod_defaults.h"
#include "catalog/kinds/core/pod_validation.h"
#include "catalog/kinds/label_selector.h"
#include "catalog/kinds/object_meta.h"
#include "catalog/kinds/strategies.h"

namespace cardea::catalog {
namespace {

constexpr std::string_view kControllerUid = "batch.kubernetes.io/controller-uid";
constexpr std::string_view kJobName = "batch.kubernetes.io/job-name";
constexpr std::string_view kOldControllerUid = "controller-uid";
constexpr std::string_view kOldJobName = "job-name";
constexpr std::int64_t kMostIndexedParallelism = 100000;

bool is_indexed(const Value& spec) {
  return spec["completionMode"].as_string() == "Indexed";
}

void defaults(Value& object, const StrategyContext&) {
  Value& spec = object_member(object, "spec");
  default_job_spec(spec);
  set_default(spec, "manualSelector", false);
  const Value labels = spec["template"]["metadata"]["labels"];
  if (!labels.empty() && object["metadata"]["labels"].empty())
    object_member(object, "metadata").set("labels", labels);
}

// The Job's uid distinguishes its pods from others, unless the client gives its own selector.
void generate_selector(Value& object) {
  if (object["spec"]["manualSelector"].as_bool()) return;
  const Value uid = object["metadata"]["uid"], name = object["metadata"]["name"];
  Value& spec = object_member(object, "spec");
  Value& labels = object_member(object_member(object_member(spec, "template"), "metadata"),
                                "labels");
  for (auto [key, value] : {std::pair{kJobName, name},
                            {kOldJobName, name},
                            {kControllerUid, uid},
                            {kOldControllerUid, uid}})
    if (!labels.has(key)) labels.set(key, value.is_null() ? Value("") : value);
  Value& match = object_member(object_member(spec, "selector"), "matchLabels");
  if (!match.has(kControllerUid)) match.set(kControllerUid, uid.is_null() ? Value("") : uid);
}

void prepare_create(Value& object, const StrategyContext& context) {
  drop_status(object, context);
  // A Job without labels gets the labels of its pods, with the generated ones.
  bool follows = semantically_equal(object["metadata"]["labels"],
                                    object["spec"]["template"]["metadata"]["labels"]);
  generate_selector(object);
  const Value labels = object["spec"]["template"]["metadata"]["labels"];
  if ((follows || object["metadata"]["labels"].empty()) && !labels.empty())
    object_member(object, "metadata").set("labels", labels);
}

void validate_generated(const Value& object, FieldErrors& out) {
  const Value& spec = object["spec"];
  if (spec["manualSelector"].as_bool() || spec["selector"].is_null()) return;
  const Value& labels = spec["template"]["metadata"]["labels"];
  Path path = "spec.template.metadata.labels";
  std::string_view uid = object["metadata"]["uid"].as_string(),
                   name = object["metadata"]["name"].as_string();
  for (auto [key, expected] : {std::pair{kOldControllerUid, uid},
                               {kOldJobName, name},
                               {kControllerUid, uid},
                               {kJobName, name}}) {
    if (!labels.has(key))
      out.push_back(json::required(path.key(key), cat("must be '", expected, "'")));
    else if (labels[key].as_string() != expected)
      out.push_back(json::invalid(path.key(key), labels, cat("must be '", expected, "'")));
  }
  const Value& match = spec["selector"]["matchLabels"];
  bool generated = spec["selector"]["matchExpressions"].empty() && match.size() == 1 &&
                   (match.has(kControllerUid) || match.has(kOldControllerUid)) &&
                   match.members()[0].value.as_string() == uid;
  if (!generated)
    out.push_back(invalid_shown("spec.selector", shown_selector(spec["selector"]),
                                "`selector` not auto-generated"));
}

void validate_counts(const Value& spec, const Path& path, FieldErrors& out) {
  for (std::string_view name :
       {"parallelism", "completions", "activeDeadlineSeconds", "backoffLimit",
        "ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes"})
    check_not_negative(path / name, spec[name], out);
  if (!spec["maxFailedIndexes"].is_null() && spec["backoffLimitPerIndex"].is_null())
    out.push_back(
        json::required(path / "backoffLimitPerIndex", "when maxFailedIndexes is specified"));
  const Value& manager = spec["managedBy"];
  if (manager.is_null()) return;
  validate_domain_prefixed_path(path / "managedBy", manager, out);
  if (manager.as_string().size() > 63) out.push_back(json::too_long(path / "managedBy", 63));
}

void validate_mode(const Value& spec, const Path& path, FieldErrors& out) {
  const Value& mode = spec["completionMode"];
  if (mode.is_null()) return;
  check_one_of(path / "completionMode", mode, {"NonIndexed", "Indexed"}, out);
  const Value& limit = spec["backoffLimitPerIndex"];
  const Value& failed = spec["maxFailedIndexes"];
  const Value& parallelism = spec["parallelism"];
  if (mode.as_string() == "NonIndexed") {
    if (!spec["successPolicy"].is_null())
      out.push_back(invalid_shown(path / "successPolicy",
                                  shown_success_policy(spec["successPolicy"]),
                                  "requires indexed completion mode"));
    if (!limit.is_null())
      out.push_back(
          json::invalid(path / "backoffLimitPerIndex", limit, "requires indexed completion mode"));
    if (!failed.is_null())
      out.push_back(
          json::invalid(path / "maxFailedIndexes", failed, "requires indexed completion mode"));
  }
  if (mode.as_string() != "Indexed") return;
  if (spec["completions"].is_null()) {
    out.push_back(json::required(path / "completions", "when completion mode is Indexed"));
    return;
  }
  std::int64_t completions = spec["completions"].as_int();
  if (parallelism.as_int() > kMostIndexedParallelism)
    out.push_back(json::invalid(path / "parallelism", parallelism,
                                cat("must be less than or equal to ", kMostIndexedParallelism,
                                    " when completion mode is Indexed")));
  if (!failed.is_null() && failed.as_int() > completions)
    out.push_back(json::invalid(path / "maxFailedIndexes", failed,
                                "must be less than or equal to completions"));
  if (!limit.is_null() && completions > kMostIndexedParallelism) {
    if (failed.is_null())
      out.push_back(json::required(path / "maxFailedIndexes",
                                   "must be specified when completions is above 100000"));
    else if (failed.as_int() > 10000)
      out.push_back(
          json::invalid(path / "maxFailedIndexes", failed,
                        "must be less than or equal to 10000 when completions are above 100000 and "
                        "used with backoff limit per index"));
    if (parallelism.as_int() > 10000)
      out.push_back(
          json::invalid(path / "parallelism", parallelism,
                        "must be less than or equal to 10000 when completions are above 100000 and "
                        "used with backoff limit per index"));
  }
  if (!spec["successPolicy"].is_null()) validate_success_policy(spec, path, out);
}

// The host name of a pod of an indexed Job is the Job's name and the pod's index.
void validate_indexed_name(const Value& object, FieldErrors& out) {
  const Value& spec = object["spec"];
  if (!is_indexed(spec) || spec["completions"].as_int() <= 0) return;
  std::string pod = cat(object["metadata"]["name"].as_string(), "-",
                        spec["completions"].as_int() - 1);
  if (!dns1123_label(pod).empty())
    out.push_back(json::invalid("metadata.name", object["metadata"]["name"],
                                cat("will not able to create pod with invalid DNS label: ", pod)));
}

// The spec of a Job has a selector; the template in a CronJob has none.
void validate_whole_spec(const Value& spec, const StrategyContext& context, FieldErrors& out) {
  validate_job_spec(spec, "spec", context, out);
  const Value& selector = spec["selector"];
  if (selector.is_null())
    out.push_back(json::required("spec.selector"));
  else
    validate_label_selector(selector, "spec.selector", out);
  const Value& labels = spec["template"]["metadata"]["labels"];
  if (selector.is_null() || (selector_is_usable(selector) && !selector_is_empty(selector)))
    if (!selector_matches(selector, labels))
      out.push_back(
          json::invalid("spec.template.metadata.labels",
                        labels.empty() ? (labels.is_null() ? Value() : Value::object()) : labels,
                        "`selector` does not match template `labels`"));
}

FieldErrors validate(const Value& object, const StrategyContext& context) {
  FieldErrors out;
  // Errors in labels that come from the template are reported at the template.
  Value own = object;
  if (semantically_equal(own["metadata"]["labels"],
                         own["spec"]["template"]["metadata"]["labels"]) &&
      own["metadata"].is_object())
    own.member("metadata").erase("labels");
  validate_kind_meta(own, true, name_is_dns_subdomain, out);
  validate_generated(object, out);
  validate_whole_spec(object["spec"], context, out);
  validate_indexed_name(object, out);
  return out;
}

// As long as a Job has not started, the placement of its pods may change.
Value without_placement(Value pod_template) {
  Value& spec = object_member(pod_template, "spec");
  for (std::string_view name : {"affinity", "nodeSelector", "tolerations", "schedulingGates"})
    spec.erase(name);
  if (pod_template["metadata"].is_object()) {
    pod_template.member("metadata").erase("labels");
    pod_template.member("metadata").erase("annotations");
  }
  for (std::string_view list : {"containers", "initContainers"}) {
    if (pod_template["spec"][list].empty()) continue;
    Value& containers = pod_template.member("spec").member(list);
    for (std::size_t i = 0; i < containers.size(); ++i) containers.item(i).erase("resources");
  }
  return pod_template;
}

void validate_template_change(const Value& object, const Value& old, FieldErrors& out) {
  const Value& now = object["spec"]["template"];
  const Value& before = old["spec"]["template"];
  if (semantically_equal(now, before)) return;
  bool may_move = old["spec"]["suspend"].as_bool() && old["status"]["startTime"].is_null();
  if (may_move) {
    if (!semantically_equal(without_placement(now), without_placement(before)))
      out.push_back(
          invalid_shown("spec.template.spec", show_go_pod_spec(now["spec"]), kFieldIsImmutable));
    return;
  }
  out.push_back(invalid_shown("spec.template", show_go_pod_template(now), kFieldIsImmutable));
}

void validate_completions_change(const Value& spec, const Value& old, FieldErrors& out) {
  if (semantically_equal(spec["completions"], old["completions"])) return;
  if (!is_indexed(spec)) {
    check_immutable("spec.completions", spec["completions"], old["completions"], out);
    return;
  }
  if (spec["completions"] != spec["parallelism"])
    out.push_back(json::invalid("spec.completions", spec["completions"],
                                "can only be modified in tandem with spec.parallelism"));
}

FieldErrors validate_update(const Value& object, const Value& old, const StrategyContext& context) {
  FieldErrors out = validate(object, context);
  validate_kind_meta_update(object, old, out);
  const Value& spec = object["spec"];
  const Value& before = old["spec"];
  validate_whole_spec(spec, context, out);
  validate_completions_change(spec, before, out);
  if (!semantically_equal(spec["selector"], before["selector"]))
    out.push_back(
        invalid_shown("spec.selector", shown_selector(spec["selector"]), kFieldIsImmutable));
  validate_template_change(object, old, out);
  check_immutable("spec.completionMode", spec["completionMode"], before["completionMode"], out);
  if (!semantically_equal(spec["podFailurePolicy"], before["podFailurePolicy"]))
    out.push_back(invalid_shown("spec.podFailurePolicy",
                                shown_pod_failure_policy(spec["podFailurePolicy"]),
                                kFieldIsImmutable));
  check_immutable("spec.backoffLimitPerIndex", spec["backoffLimitPerIndex"],
                  before["backoffLimitPerIndex"], out);
  check_immutable("spec.managedBy", spec["managedBy"], before["managedBy"], out);
  if (!semantically_equal(spec["successPolicy"], before["successPolicy"]))
    out.push_back(invalid_shown("spec.successPolicy", shown_success_policy(spec["successPolicy"]),
                                kFieldIsImmutable));
  return out;
}

FieldErrors validate_status(const Value& object, const Value& old, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  validate_job_status_update(object, old, out);
  return out;
}

std::vector<std::string> warnings(const Value& object, const Value* old,
                                  const StrategyContext& context) {
  std::vector<std::string> out;
  if (old == nullptr) warn_about_pod_name(object, out);
  for (auto& warning : workload_warnings(object, old, context)) out.push_back(std::move(warning));
  return out;
}

std::string field(const Value& object, std::string_view name) {
  return name == "status.successful" ? std::to_string(object["status"]["succeeded"].as_int()) : "";
}

}  // namespace

void default_job_spec(Value& spec) {
  default_pod_template(object_member(spec, "template"));
  if (spec["completions"].is_null() && spec["parallelism"].is_null()) {
    spec.set("completions", 1);
    spec.set("parallelism", 1);
  }
  set_default(spec, "parallelism", 1);
  set_default(spec, "backoffLimit", spec["backoffLimitPerIndex"].is_null() ? 6 : 2147483647);
  set_default(spec, "completionMode", "NonIndexed");
  set_default(spec, "suspend", false);
  default_pod_failure_policy(spec);
  set_default(spec, "podReplacementPolicy",
              spec["podFailurePolicy"].is_null() ? "TerminatingOrFailed" : "Failed");
}

void validate_job_spec(const Value& spec, const Path& path, const StrategyContext& context,
                       FieldErrors& out) {
  validate_counts(spec, path, out);
  validate_mode(spec, path, out);
  validate_pod_failure_policy(spec, path, out);
  bool has_policy = !spec["podFailurePolicy"].is_null();
  if (!spec["podReplacementPolicy"].is_null())
    check_one_of(path / "podReplacementPolicy", spec["podReplacementPolicy"],
                 has_policy ? std::vector<std::string>{"Failed"}
                            : std::vector<std::string>{"Failed", "TerminatingOrFailed"},
                 out);
  validate_pod_template(spec["template"], path / "template", context, out);
  const Value& restart = spec["template"]["spec"]["restartPolicy"];
  Path at = path / "template" / "spec" / "restartPolicy";
  if (restart.as_string().empty() || restart.as_string() == "Always")
    out.push_back(json::required(at, "valid values: \"OnFailure\", \"Never\""));
  else if (restart.as_string() != "OnFailure" && restart.as_string() != "Never")
    out.push_back(json::not_supported(at, restart, {"OnFailure", "Never"}));
  else if (has_policy && restart.as_string() != "Never")
    out.push_back(json::invalid(at, restart,
                                "only \"Never\" is supported when podFailurePolicy is specified"));
}

const Strategy& job_strategy() {
  static const Strategy strategy{
      .defaults = defaults,
      .prepare_for_create = prepare_create,
      .prepare_for_update = keep_status,
      .validate_create = validate,
      .validate_update = validate_update,
      .warnings = warnings,
      .prepare_for_status_update = keep_spec,
      .validate_status_update = validate_status,
      .selectable_fields = {"status.successful"},
      .selectable_field = field,
      .unknown_field = "field label \"{}\" not supported for Job",
      .has_generation = true,
      .default_propagation = "Orphan",
  };
  return strategy;
}

}  // namespace cardea::catalog
