// The class a claim or ingress gets when it does not name one, and what a runtime class means for a
// pod.
#include <algorithm>

#include "admission/plugins.h"
#include "base/strings.h"
#include "json/print.h"

namespace cardea::admission {
namespace {

using json::Value;

// Of several classes marked as default the newest wins, then the first by name.
Value newest_default(std::vector<Value> classes, std::string_view annotation) {
  Value chosen;
  for (Value& c : classes) {
    if (c["metadata"]["annotations"][annotation].as_string() != "true") continue;
    std::string_view time = c["metadata"]["creationTimestamp"].as_string();
    std::string_view best = chosen["metadata"]["creationTimestamp"].as_string();
    bool better = chosen.is_null() || time > best ||
                  (time == best &&
                   c["metadata"]["name"].as_string() < chosen["metadata"]["name"].as_string());
    if (better) chosen = std::move(c);
  }
  return chosen;
}

class DefaultStorageClass : public Plugin {
 public:
  explicit DefaultStorageClass(Objects objects) : objects_(objects) {}
  std::string_view name() const override { return "DefaultStorageClass"; }
  bool handles(const Review& r) const override {
    return r.operation == Operation::kCreate && r.subresource.empty() && r.resource.group.empty() &&
           r.resource.name == "persistentvolumeclaims";
  }
  Task<Result<void>> mutate(Review& r) const override {
    bool named = r.object["spec"].has("storageClassName") ||
                 r.object["metadata"]["annotations"].has("volume.beta.kubernetes.io/storage-class");
    if (named) co_return Result<void>{};
    auto classes = objects_.list(r.catalog, "storage.k8s.io", "storageclasses");
    Value chosen = newest_default(classes, "storageclass.kubernetes.io/is-default-class");
    if (chosen.is_null())
      chosen = newest_default(std::move(classes),
                              "storageclass.beta.kubernetes.io/is-default-class");
    if (!chosen.is_null())
      r.object.member("spec").set("storageClassName", chosen["metadata"]["name"]);
    co_return Result<void>{};
  }

 private:
  Objects objects_;
};

class DefaultIngressClass : public Plugin {
 public:
  explicit DefaultIngressClass(Objects objects) : objects_(objects) {}
  std::string_view name() const override { return "DefaultIngressClass"; }
  bool handles(const Review& r) const override {
    return r.operation == Operation::kCreate && r.subresource.empty() &&
           r.resource.group == "networking.k8s.io" && r.resource.name == "ingresses";
  }
  Task<Result<void>> mutate(Review& r) const override {
    bool named = r.object["spec"].has("ingressClassName") ||
                 r.object["metadata"]["annotations"].has("kubernetes.io/ingress.class");
    if (named) co_return Result<void>{};
    Value chosen = newest_default(objects_.list(r.catalog, "networking.k8s.io", "ingressclasses"),
                                  "ingressclass.kubernetes.io/is-default-class");
    if (!chosen.is_null())
      r.object.member("spec").set("ingressClassName", chosen["metadata"]["name"]);
    co_return Result<void>{};
  }

 private:
  Objects objects_;
};

class RuntimeClass : public Plugin {
 public:
  explicit RuntimeClass(Objects objects) : objects_(objects) {}
  std::string_view name() const override { return "RuntimeClass"; }
  bool handles(const Review& r) const override {
    return r.operation == Operation::kCreate && r.subresource.empty() && r.resource.group.empty() &&
           r.resource.name == "pods";
  }

  Task<Result<void>> mutate(Review& r) const override {
    if (r.object["spec"]["runtimeClassName"].is_null()) co_return Result<void>{};
    auto found = class_of(r);
    if (!found) co_return fail(found.error());
    if (auto ok = set_overhead(r, (*found)["overhead"]["podFixed"]); !ok) co_return ok;
    co_return set_scheduling(r, (*found)["scheduling"]);
  }

  Task<Result<void>> validate(const Review& r) const override {
    const Value& overhead = r.object["spec"]["overhead"];
    if (r.object["spec"]["runtimeClassName"].is_null()) {
      if (!overhead.empty())
        co_return fail(forbidden(
            r,
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"));
      co_return Result<void>{};
    }
    auto found = class_of(r);
    if (!found) co_return fail(found.error());
    const Value& fixed = (*found)["overhead"]["podFixed"];
    if (!(fixed.empty() && overhead.empty()) && !(fixed == overhead))
      co_return fail(forbidden(
          r, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"));
    co_return Result<void>{};
  }

 private:
  Result<Value> class_of(const Review& r) const {
    std::string_view wanted = r.object["spec"]["runtimeClassName"].as_string();
    Value found = objects_.get(r.catalog, "node.k8s.io", "runtimeclasses", "", wanted);
    if (found.is_null())
      return fail(forbidden(r, cat("pod rejected: RuntimeClass ", quoted(wanted), " not found")));
    return found;
  }

  static Result<void> set_overhead(Review& r, const Value& fixed) {
    if (fixed.empty()) return {};
    const Value& given = r.object["spec"]["overhead"];
    if (!given.empty() && !(given == fixed))
      return fail(forbidden(
          r, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"));
    r.object.member("spec").set("overhead", fixed);
    return {};
  }

  static Result<void> set_scheduling(Review& r, const Value& scheduling) {
    Value& spec = r.object.member("spec");
    for (const json::Member& m : scheduling["nodeSelector"].members()) {
      const Value& has = spec["nodeSelector"][m.key()];
      if (!has.is_null() && !(has == m.value))
        return fail(
            forbidden(r, cat("pod rejected: conflict: runtimeClass.scheduling.nodeSelector[",
                             m.key(), "] = ", m.value.as_string(), "; pod.spec.nodeSelector[",
                             m.key(), "] = ", has.as_string())));
      spec.member("nodeSelector").set(m.key(), m.value);
    }
    for (const Value& t : scheduling["tolerations"].items()) {
      bool there = false;
      for (const Value& have : spec["tolerations"].items()) there |= have == t;
      if (!there) spec.member("tolerations").push_back(t);
    }
    return {};
  }

  Objects objects_;
};

}  // namespace

std::unique_ptr<Plugin> default_storage_class(Objects objects) {
  return std::make_unique<DefaultStorageClass>(objects);
}
std::unique_ptr<Plugin> default_ingress_class(Objects objects) {
  return std::make_unique<DefaultIngressClass>(objects);
}
std::unique_ptr<Plugin> runtime_class(Objects objects) {
  return std::make_unique<RuntimeClass>(objects);
}

}  // namespace cardea::admission
