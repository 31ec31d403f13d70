#include <optional>

#include "admission/plugins.h"
#include "base/strings.h"

namespace cardea::admission {
namespace {

using json::Value;

// Gives pods the number their priority class stands for, and allows one global default.
class Priority : public Plugin {
 public:
  explicit Priority(Objects objects) : objects_(objects) {}
  std::string_view name() const override { return "Priority"; }

  bool handles(const Review& r) const override {
    bool writes = r.operation == Operation::kCreate || r.operation == Operation::kUpdate;
    return writes && r.subresource.empty() && (is_pod(r) || is_class(r));
  }

  Task<Result<void>> mutate(Review& r) const override {
    if (!is_pod(r)) co_return Result<void>{};
    co_return r.operation == Operation::kCreate ? admit_new(r) : admit_changed(r);
  }

  Task<Result<void>> validate(const Review& r) const override {
    if (!is_class(r) || !r.object["globalDefault"].as_bool()) co_return Result<void>{};
    for (const Value& other : objects_.list(r.catalog, "scheduling.k8s.io", "priorityclasses"))
      if (other["globalDefault"].as_bool() && other["metadata"]["name"].as_string() != r.name)
        co_return fail(
            forbidden(r, cat("PriorityClass ", other["metadata"]["name"].as_string(),
                             " is already marked as default. Only one default can exist")));
    co_return Result<void>{};
  }

 private:
  static bool is_pod(const Review& r) {
    return r.resource.group.empty() && r.resource.name == "pods";
  }
  static bool is_class(const Review& r) { return r.resource.name == "priorityclasses"; }

  // What the pod has stays, unless the client says otherwise.
  static Result<void> admit_changed(Review& r) {
    Value& spec = r.object.member("spec");
    for (auto key : {"priority", "preemptionPolicy"})
      if (spec[key].is_null() && (*r.old_object)["spec"].has(key))
        spec.set(key, (*r.old_object)["spec"][key]);
    return {};
  }

  Value global_default(const Review& r) const {
    Value chosen;
    for (Value& c : objects_.list(r.catalog, "scheduling.k8s.io", "priorityclasses"))
      if (c["globalDefault"].as_bool() &&
          (chosen.is_null() || c["value"].as_int() < chosen["value"].as_int()))
        chosen = std::move(c);
    return chosen;
  }

  Result<void> admit_new(Review& r) const {
    Value& spec = r.object.member("spec");
    std::string wanted(spec["priorityClassName"].as_string());
    Value found;
    if (wanted.empty()) {
      found = global_default(r);
      if (!found.is_null()) spec.set("priorityClassName", found["metadata"]["name"]);
    } else {
      found = objects_.get(r.catalog, "scheduling.k8s.io", "priorityclasses", "", wanted);
      if (found.is_null())
        return fail(forbidden(r, cat("no PriorityClass with name ", wanted, " was found")));
    }
    std::int64_t value = found["value"].as_int();
    if (!spec["priority"].is_null() && spec["priority"].as_int() != value)
      return fail(forbidden(
          r, cat("the integer value of priority (", spec["priority"].as_int(),
                 ") must not be provided in pod spec; priority admission controller computed ",
                 value, " from the given PriorityClass name")));
    spec.set("priority", value);
    Value policy = found["preemptionPolicy"].is_null() ? Value("PreemptLowerPriority")
                                                       : found["preemptionPolicy"];
    if (!spec["preemptionPolicy"].is_null() && !(spec["preemptionPolicy"] == policy))
      return fail(forbidden(
          r, cat("the string value of PreemptionPolicy (", spec["preemptionPolicy"].as_string(),
                 ") must not be provided in pod spec; priority admission controller computed ",
                 policy.as_string(), " from the given PriorityClass name")));
    spec.set("preemptionPolicy", policy);
    return {};
  }

  Objects objects_;
};

}  // namespace

std::unique_ptr<Plugin> priority(Objects objects) {
  return std::make_unique<Priority>(objects);
}

}  // namespace cardea::admission
