#include "catalog/kinds/check.h"
#include "catalog/kinds/core/core_strategies.h"
#include "catalog/kinds/core/pod_defaults.h"
#include "catalog/kinds/core/pod_parts.h"
#include "catalog/kinds/core/pod_update.h"
#include "catalog/kinds/core/pod_validation.h"
#include "catalog/kinds/core/resources.h"
#include "catalog/kinds/ip.h"

namespace cardea::catalog {
namespace {

constexpr std::string_view kAppArmorPrefix = "container.apparmor.security.beta.kubernetes.io/";
constexpr std::string_view kFields[] = {
    "spec.nodeName",           "spec.host",        "spec.restartPolicy", "spec.schedulerName",
    "spec.serviceAccountName", "spec.hostNetwork", "status.phase",       "status.podIP",
    "status.nominatedNodeName"};

// The older field shows the first item of the newer list.
void default_pod_ips(Value& status) {
  std::string first(text(status, "podIP"));
  const Value& all = status["podIPs"];
  if (!first.empty() && (all.empty() || text(all[0], "ip") != first))
    status.set("podIPs", Value::array({Value::object({{"ip", Value(first)}})}));
  else if (first.empty() && !all.empty())
    status.set("podIP", all[0]["ip"]);
}

void defaults(Value& object, const StrategyContext&) {
  default_pod(object);
  edit_member(object, "status", default_pod_ips);
}

// Fields of features that are off are accepted and dropped.
void drop_disabled(Value& spec) {
  spec.erase("schedulingGroup");
  for (const char* key : {"containers", "initContainers", "ephemeralContainers"})
    edit_items(spec, key, [](Value& container) {
      edit_member(container, "lifecycle", [](Value& lifecycle) { lifecycle.erase("stopSignal"); });
    });
  edit_items(spec, "volumes", [](Value& volume) {
    edit_member(volume, "projected", [](Value& projected) {
      edit_items(projected, "sources", [](Value& source) {
        source.erase("clusterTrustBundle");
        source.erase("podCertificate");
      });
    });
  });
}

// These labels distinguish the replicas of one rollout; the values of the pod become part of the
// selector.
void add_label_keys(Value& holder, const char* list, const char* op, const Value& labels) {
  if (!holder["labelSelector"].is_object()) return;
  const Value keys = holder[list];
  for (const Value& key : keys.items())
    if (const Value* value = labels.find(key.as_string()))
      holder.member("labelSelector")
          .member("matchExpressions")
          .push_back(
              Value::object({{"key", key}, {"operator", op}, {"values", Value::array({*value})}}));
}

void apply_label_keys(Value& spec, const Value& labels) {
  auto term = [&](Value& t) {
    add_label_keys(t, "matchLabelKeys", "In", labels);
    add_label_keys(t, "mismatchLabelKeys", "NotIn", labels);
  };
  edit_member(spec, "affinity", [&](Value& affinity) {
    for (const char* kind : {"podAffinity", "podAntiAffinity"})
      edit_member(affinity, kind, [&](Value& a) {
        edit_items(a, "preferredDuringSchedulingIgnoredDuringExecution",
                   [&](Value& weighted) { edit_member(weighted, "podAffinityTerm", term); });
        edit_items(a, "requiredDuringSchedulingIgnoredDuringExecution", term);
      });
  });
  edit_items(spec, "topologySpreadConstraints", [&](Value& constraint) {
    add_label_keys(constraint, "matchLabelKeys", "In", labels);
  });
}

Value app_armor_field(std::string_view annotation) {
  if (annotation == "unconfined") return Value::object({{"type", "Unconfined"}});
  if (annotation == "runtime/default" || annotation.empty())
    return Value::object({{"type", "RuntimeDefault"}});
  if (annotation.starts_with("localhost/") && annotation.size() > 10)
    return Value::object(
        {{"type", "Localhost"}, {"localhostProfile", Value(annotation.substr(10))}});
  return {};
}

// Profiles that old clients write into annotations are copied to the field.
void apply_app_armor_annotations(Value& spec, const Value& annotations) {
  if (text(spec["os"], "name") == "windows") return;
  const Value pod_profile = spec["securityContext"]["appArmorProfile"];
  for (const char* key : {"initContainers", "containers", "ephemeralContainers"})
    edit_items(spec, key, [&](Value& container) {
      const Value* annotation = annotations.find(cat(kAppArmorPrefix, text(container, "name")));
      if (!annotation || present(container["securityContext"], "appArmorProfile")) return;
      Value profile = app_armor_field(annotation->as_string());
      if (!profile.is_null() && profile != pod_profile)
        object_member(container, "securityContext").set("appArmorProfile", std::move(profile));
    });
}

void prepare_create(Value& object, const StrategyContext& context) {
  object.set("status",
             Value::object({{"phase", "Pending"}, {"qosClass", pod_qos_class(object["spec"])}}));
  const Value meta = object["metadata"];
  edit_member(object, "spec", [&](Value& spec) {
    drop_disabled(spec);
    apply_label_keys(spec, meta["labels"]);
    apply_app_armor_annotations(spec, meta["annotations"]);
  });
  if (!object["spec"]["schedulingGates"].empty())
    set_pod_condition(
        object,
        Value::object({{"type", "PodScheduled"},
                       {"status", "False"},
                       {"reason", "SchedulingGated"},
                       {"message", "Scheduling is blocked due to non-empty scheduling gates"}}),
        context.now);
}

void prepare_update(Value& object, const Value& old, const StrategyContext& context) {
  if (context.subresource == "ephemeralcontainers")
    keep_all_but_ephemeral_containers(object, old);
  else if (context.subresource == "resize")
    keep_all_but_resources(object, old);
  else
    keep_status(object, old, context);
  edit_member(object, "spec", drop_disabled);
}

void keep_observed_generations(Value& status, const Value& old) {
  if (status["observedGeneration"].as_int() == 0 && present(old, "observedGeneration"))
    status.set("observedGeneration", old["observedGeneration"]);
  edit_items(status, "conditions", [&](Value& condition) {
    if (condition["observedGeneration"].as_int() != 0) return;
    for (const Value& before : old["conditions"].items())
      if (text(before, "type") == text(condition, "type") && present(before, "observedGeneration"))
        condition.set("observedGeneration", before["observedGeneration"]);
  });
}

void prepare_status(Value& object, const Value& old, const StrategyContext& context) {
  keep_spec(object, old, context);
  Value& meta = object_member(object, "metadata");
  if (present(old["metadata"], "ownerReferences"))
    meta.set("ownerReferences", old["metadata"]["ownerReferences"]);
  else
    meta.erase("ownerReferences");
  Value& status = object_member(object, "status");
  if (text(status, "qosClass").empty() && present(old["status"], "qosClass"))
    status.set("qosClass", old["status"]["qosClass"]);
  keep_observed_generations(status, old["status"]);
}

void validate_meta_and_spec(const Value& object, const StrategyContext& context, FieldErrors& out) {
  const Value &meta = object["metadata"], &spec = object["spec"];
  validate_kind_meta(object, true, name_is_dns_subdomain, out);
  validate_pod_annotations(meta["annotations"], spec, "metadata.annotations", out);
  validate_pod_spec(spec, "spec",
                    {.is_pod = true, .allow_privileged = context.allow_privileged, .meta = &meta},
                    out);
  if (text(spec, "serviceAccountName").empty())
    each(spec, "volumes", "spec", [&](const Value& volume, const Path& at) {
      each(volume["projected"], "sources", at / "projected",
           [&](const Value& source, const Path& source_path) {
             if (present(source, "serviceAccountToken"))
               out.push_back(
                   json::forbidden(source_path / "serviceAccountToken",
                                   "must not be specified when serviceAccountName is not set"));
           });
    });
  pod::validate_container_images(spec, "containers", "spec", out);
  pod::validate_container_images(spec, "initContainers", "spec", out);
}

FieldErrors validate(const Value& object, const StrategyContext& context) {
  FieldErrors out;
  const Value& spec = object["spec"];
  validate_meta_and_spec(object, context, out);
  if (!spec["ephemeralContainers"].empty())
    out.push_back(json::forbidden("spec.ephemeralContainers", "cannot be set on create"));
  if (!text(spec, "nodeName").empty() && !spec["schedulingGates"].empty())
    out.push_back(json::forbidden("spec.nodeName",
                                  "cannot be set until all schedulingGates have been cleared"));
  pod::validate_security_annotations(object["metadata"]["annotations"], spec, "spec", out);
  return out;
}

FieldErrors validate_update(const Value& object, const Value& old, const StrategyContext& context) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  validate_meta_and_spec(object, context, out);
  auto alone = [](const FieldErrors& errors) {
    return errors.size() == 1 && errors[0].field.empty();
  };
  if (context.subresource == "resize" || context.subresource == "ephemeralcontainers") {
    bool resize = context.subresource == "resize";
    if (!resize) validate_pod_annotation_changes(object, old, out);
    FieldErrors own = resize ? validate_resize(object, old)
                             : validate_ephemeral_container_changes(object, old);
    if (alone(own)) return own;  // a pod that does not have the subresource at all
    for (auto& error : own) out.push_back(std::move(error));
    return out;
  }
  validate_pod_annotation_changes(object, old, out);
  validate_pod_changes(object, old, out);
  return out;
}

std::vector<std::string> warnings(const Value& object, const Value* old,
                                  const StrategyContext& context) {
  std::vector<std::string> out;
  if (context.subresource == "status") {
    for (const char* key : {"podIPs", "hostIPs"})
      each(object["status"], key, "status",
           [&](const Value& ip, const Path& at) { warn_about_ip(at / "ip", text(ip, "ip"), out); });
  }
  if (old) return out;
  if (auto complaints = dns1123_label(text(object["metadata"], "name")); !complaints.empty())
    out.push_back(
        cat("metadata.name: this is used in the Pod's hostname, which can result in surprising "
            "behavior; a "
            "DNS label is recommended: [",
            join(complaints, " "), "]"));
  pod::each_container(object["spec"], "spec", [&](const Value& container, const Path&) {
    std::string key = cat(kAppArmorPrefix, text(container, "name"));
    const Value* annotation = object["metadata"]["annotations"].find(key);
    if (!annotation || text(object["spec"]["os"], "name") == "windows") return;
    Value profile = app_armor_field(annotation->as_string());
    if (profile.is_null() || profile == container["securityContext"]["appArmorProfile"])
      out.push_back(cat("metadata.annotations[", key,
                        "]: deprecated since v1.30; use the \"appArmorProfile\" field instead"));
  });
  warn_about_pod_spec(object["spec"], object["metadata"], "spec", "metadata", out);
  return out;
}

std::string field(const Value& object, std::string_view name) {
  if (name == "spec.host") return std::string(text(object["spec"], "nodeName"));  // its former name
  if (name == "spec.hostNetwork") return object["spec"]["hostNetwork"].as_bool() ? "true" : "false";
  if (name == "status.podIP") return std::string(text(object["status"]["podIPs"][0], "ip"));
  if (!contains(kFields, name)) return "";
  std::size_t dot = name.find('.');
  return std::string(text(object[name.substr(0, dot)], name.substr(dot + 1)));
}

// The time that a deleted pod may take to end. A pod that runs on no node or has ended needs no
// time.
std::int64_t grace_period(const Value& pod) {
  std::string_view phase = pod["status"]["phase"].as_string();
  if (pod["spec"]["nodeName"].as_string().empty() || phase == "Succeeded" || phase == "Failed")
    return 0;
  return pod["spec"]["terminationGracePeriodSeconds"].as_int();
}

}  // namespace

const Strategy& pod_strategy() {
  static const Strategy strategy{
      .defaults = defaults,
      .prepare_for_create = prepare_create,
      .prepare_for_update = prepare_update,
      .validate_create = validate,
      .validate_update = validate_update,
      .warnings = warnings,
      .prepare_for_status_update = prepare_status,
      .validate_status_update = validate_pod_status,
      .selectable_fields = {std::begin(kFields), std::end(kFields)},
      .selectable_field = field,
      .unknown_field = "field label not supported: {}",
      .has_generation = true,
      .grace_period = grace_period,
      .returns_deleted_object = true,
  };
  return strategy;
}

}  // namespace cardea::catalog
