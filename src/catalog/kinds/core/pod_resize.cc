#include "catalog/kinds/check.h"
#include "catalog/kinds/core/pod_update.h"
#include "catalog/kinds/core/resources.h"

// pods/resize: cpu and memory of a running pod.
namespace cardea::catalog {
namespace {

using std::string_view;

bool names_align(const Value& now, const Value& before) {
  return std::ranges::equal(now.items(), before.items(), [](const Value& a, const Value& b) {
    return text(a, "name") == text(b, "name");
  });
}

void put_back_but_resources(Value& list, const Value& old) {
  for (std::size_t i = 0; i < old.size(); ++i) {
    Value kept = old[i];
    for (const char* key : {"resources", "resizePolicy"}) {
      if (present(list[i], key))
        kept.set(key, list[i][key]);
      else
        kept.erase(key);
    }
    list.item(i) = std::move(kept);
  }
}

bool lost_a_resource(const Value& now, const Value& before) {
  return std::ranges::any_of(before.members(),
                             [&](const json::Member& m) { return !now.has(m.key()); });
}

void validate_not_removed(const Value& now, const Value& before, const Path& path,
                          string_view prefix, FieldErrors& out) {
  for (const char* key : {"requests", "limits"})
    if (lost_a_resource(now[key], before[key]))
      out.push_back(
          json::forbidden(path / key, cat(prefix, "resource ", key, " cannot be removed")));
}

// The same resources with the old cpu and memory.
Value undo_cpu_and_memory(Value requirements, const Value& before) {
  if (requirements.is_null() && before.is_null()) return requirements;
  for (const char* key : {"limits", "requests"}) {
    Value list = requirements[key];
    for (const char* resource : {"cpu", "memory"}) {
      if (list.is_object()) list.erase(resource);
      if (before[key].has(resource)) list.set(resource, before[key][resource]);
    }
    if (!list.is_null()) requirements.set(key, std::move(list));
  }
  return requirements;
}

void validate_order(const Value& spec, const Value& before, const char* key, FieldErrors& out) {
  Path path = Path("spec") / key;
  if (spec[key].size() != before[key].size())
    return out.push_back(json::forbidden(path, cat(key, " may not be added or removed on resize")));
  for (std::size_t i = 0; i < spec[key].size(); ++i)
    if (text(spec[key][i], "name") != text(before[key][i], "name"))
      out.push_back(json::forbidden(path.index(i) / "name",
                                    cat(key, " may not be renamed or reordered on resize")));
}

bool is_resize_supported(const Value& pod) {
  for (const Value& status : pod["status"]["containerStatuses"].items())
    if (present(status["state"], "running")) return present(status, "resources");
  return true;
}

Value undo_container(const Value& container, const Value& before) {
  Value out = container;
  Value resources = undo_cpu_and_memory(container["resources"], before["resources"]);
  if (!resources.is_null()) out.set("resources", std::move(resources));
  return out;
}

void validate_containers(const Value& spec, const Value& before, Value& undone, FieldErrors& out) {
  constexpr const char* kOnly = "only cpu and memory resources are mutable";
  for (std::size_t i = 0; i < before["initContainers"].size(); ++i)
    validate_not_removed(spec["initContainers"][i]["resources"],
                         before["initContainers"][i]["resources"],
                         Path("spec.initContainers").index(i) / "resources", "", out);
  for (std::size_t i = 0; i < before["containers"].size(); ++i)
    validate_not_removed(spec["containers"][i]["resources"], before["containers"][i]["resources"],
                         Path("spec.containers").index(i) / "resources", "", out);
  for (std::size_t i = 0; i < before["containers"].size(); ++i) {
    Value container = undo_container(spec["containers"][i], before["containers"][i]);
    if (!semantically_equal(container, before["containers"][i]))
      out.push_back(json::forbidden("spec", kOnly));
    undone.member("containers").item(i) = std::move(container);
  }
  for (std::size_t i = 0; i < before["initContainers"].size(); ++i) {
    const Value &now = spec["initContainers"][i], &old = before["initContainers"][i];
    Path path = Path("spec.initContainers").index(i);
    Value container = undo_container(now, old);
    if (!semantically_equal(container, old))
      out.push_back(json::forbidden(
          path, "only cpu and memory resources for init or sidecar containers are mutable"));
    bool sidecar = text(now, "restartPolicy") == "Always";
    if (!semantically_equal(now, old) && !sidecar)
      for (const Value& policy : now["resizePolicy"].items())
        if (text(policy, "restartPolicy") == "RestartContainer")
          out.push_back(json::forbidden(path,
                                        "non-sidecar init containers with a resize policy of "
                                        "RestartContainer cannot be resized"));
    undone.member("initContainers").item(i) = std::move(container);
  }
}

void validate_pod_level(const Value& spec, const Value& before, Value& undone, FieldErrors& out) {
  const Value &now = spec["resources"], &old = before["resources"];
  auto set = [](const Value& r) { return !r["requests"].empty() || !r["limits"].empty(); };
  if (!set(now) && !set(old)) return;
  if (!old.is_null() && now.is_null())
    return out.push_back(
        json::forbidden("spec.resources", "pod-level resources cannot be removed"));
  if (!old.is_null()) validate_not_removed(now, old, "spec.resources", "pod-level ", out);
  Value resources = undo_cpu_and_memory(now, old);
  if (!semantically_equal(resources, old))
    out.push_back(
        json::forbidden("spec", "only cpu and memory resources are mutable at pod-level"));
  if (old.is_null())
    undone.erase("resources");
  else
    undone.set("resources", std::move(resources));
}

}  // namespace

void keep_all_but_resources(Value& pod, const Value& old) {
  const Value &spec = pod["spec"], &before = old["spec"];
  for (const char* key : {"containers", "initContainers"})
    if (!names_align(spec[key], before[key])) return;  // validation reports the error
  Value kept = before;
  for (const char* key : {"containers", "initContainers"}) {
    if (before[key].empty()) continue;
    Value list = spec[key];
    put_back_but_resources(list, before[key]);
    kept.set(key, std::move(list));
  }
  if (present(spec, "resources"))
    kept.set("resources", spec["resources"]);
  else
    kept.erase("resources");
  pod.set("spec", std::move(kept));
  keep_status(pod, old, {});
  for (const char* key : {"labels", "annotations", "ownerReferences", "finalizers"}) {
    if (present(old["metadata"], key))
      object_member(pod, "metadata").set(key, old["metadata"][key]);
    else
      object_member(pod, "metadata").erase(key);
  }
}

FieldErrors validate_resize(const Value& pod, const Value& old) {
  FieldErrors out;
  if (old["metadata"]["annotations"].has("kubernetes.io/config.mirror")) {
    out.push_back(json::forbidden("", "static pods cannot be resized"));
    return out;
  }
  if (text(old["spec"]["os"], "name") == "windows") {
    out.push_back(json::forbidden("", "windows pods cannot be resized"));
    return out;
  }
  const Value &spec = pod["spec"], &before = old["spec"];
  if (pod_qos_class(spec) != pod_qos_class(before))
    out.push_back(json::invalid("spec", text(pod["status"], "qosClass"),
                                "Pod QOS Class may not change as a result of resizing"));
  if (!is_resize_supported(old))
    out.push_back(json::forbidden("spec", "Pod running on node without support for resize"));
  Value undone = spec;
  validate_pod_level(spec, before, undone, out);
  std::size_t seen = out.size();
  for (const char* key : {"containers", "initContainers"}) validate_order(spec, before, key, out);
  if (out.size() != seen) return out;
  validate_containers(spec, before, undone, out);
  if (out.empty() && !semantically_equal(undone, before))
    out.push_back(json::forbidden("spec", "only cpu and memory resources are mutable"));
  return out;
}

}  // namespace cardea::catalog
