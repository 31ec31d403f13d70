// Small defaults that keep pods and nodes apart while a node is not ready.
#include "admission/plugins.h"

namespace cardea::admission {
namespace {

using json::Value;

constexpr std::string_view kNotReady = "node.kubernetes.io/not-ready";
constexpr std::string_view kUnreachable = "node.kubernetes.io/unreachable";

bool tolerates(const Value& tolerations, std::string_view taint) {
  for (const Value& t : tolerations.items()) {
    std::string_view key = t["key"].as_string(), effect = t["effect"].as_string();
    if ((key.empty() || key == taint) && (effect.empty() || effect == "NoExecute")) return true;
  }
  return false;
}

class DefaultTolerationSeconds : public Plugin {
 public:
  explicit DefaultTolerationSeconds(const Settings& s)
      : defaults_{{kNotReady, s.not_ready_toleration_seconds},
                  {kUnreachable, s.unreachable_toleration_seconds}} {}
  std::string_view name() const override { return "DefaultTolerationSeconds"; }
  bool handles(const Review& r) const override {
    bool writes = r.operation == Operation::kCreate || r.operation == Operation::kUpdate;
    return writes && r.subresource.empty() && r.resource.group.empty() && r.resource.name == "pods";
  }
  Task<Result<void>> mutate(Review& r) const override {
    for (const auto& [taint, seconds] : defaults_) {
      if (tolerates(r.object["spec"]["tolerations"], taint)) continue;
      r.object.member("spec")
          .member("tolerations")
          .push_back(Value::object({{"key", taint},
                                    {"operator", "Exists"},
                                    {"effect", "NoExecute"},
                                    {"tolerationSeconds", seconds}}));
    }
    co_return Result<void>{};
  }

 private:
  const std::pair<std::string_view, std::int64_t> defaults_[2];
};

class TaintNodesByCondition : public Plugin {
 public:
  std::string_view name() const override { return "TaintNodesByCondition"; }
  bool handles(const Review& r) const override {
    return r.operation == Operation::kCreate && r.subresource.empty() && r.resource.group.empty() &&
           r.resource.name == "nodes";
  }
  // A new node is not ready until its kubelet reports that it is.
  Task<Result<void>> mutate(Review& r) const override {
    for (const Value& t : r.object["spec"]["taints"].items())
      if (t["key"].as_string() == kNotReady && t["effect"].as_string() == "NoSchedule")
        co_return Result<void>{};
    r.object.member("spec").member("taints").push_back(
        Value::object({{"key", kNotReady}, {"effect", "NoSchedule"}}));
    co_return Result<void>{};
  }
};

// Volumes and claims are not deleted while something uses them.
class StorageObjectInUseProtection : public Plugin {
 public:
  std::string_view name() const override { return "StorageObjectInUseProtection"; }
  bool handles(const Review& r) const override {
    return r.operation == Operation::kCreate && r.subresource.empty() && r.resource.group.empty() &&
           !finalizer(r).empty();
  }
  Task<Result<void>> mutate(Review& r) const override {
    std::string_view wanted = finalizer(r);
    for (const Value& f : r.object["metadata"]["finalizers"].items())
      if (f.as_string() == wanted) co_return Result<void>{};
    r.object.member("metadata").member("finalizers").push_back(wanted);
    co_return Result<void>{};
  }

 private:
  static std::string_view finalizer(const Review& r) {
    if (r.resource.name == "persistentvolumeclaims") return "kubernetes.io/pvc-protection";
    if (r.resource.name == "persistentvolumes") return "kubernetes.io/pv-protection";
    return "";
  }
};

}  // namespace

std::unique_ptr<Plugin> default_toleration_seconds(Objects, const Settings& settings) {
  return std::make_unique<DefaultTolerationSeconds>(settings);
}
std::unique_ptr<Plugin> taint_nodes_by_condition() {
  return std::make_unique<TaintNodesByCondition>();
}
std::unique_ptr<Plugin> storage_object_in_use_protection() {
  return std::make_unique<StorageObjectInUseProtection>();
}

}  // namespace cardea::admission
