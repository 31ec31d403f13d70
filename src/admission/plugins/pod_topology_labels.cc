#include "admission/plugins.h"

namespace cardea::admission {
namespace {

using json::Value;

// Pods get labels with the zone and region of their node, so that programs in the pod can read
// them.
class PodTopologyLabels : public Plugin {
 public:
  explicit PodTopologyLabels(Objects objects) : objects_(objects) {}
  std::string_view name() const override { return "PodTopologyLabels"; }

  bool handles(const Review& r) const override {
    return r.operation == Operation::kCreate && r.resource.group.empty() &&
           r.resource.name == "pods" && (r.subresource.empty() || r.subresource == "binding");
  }

  Task<Result<void>> mutate(Review& r) const override {
    std::string_view node = r.subresource.empty() ? r.object["spec"]["nodeName"].as_string()
                                                  : r.object["target"]["name"].as_string();
    if (node.empty()) co_return Result<void>{};
    Value found = objects_.get(r.catalog, "", "nodes", "", node);
    for (auto key : {"topology.kubernetes.io/zone", "topology.kubernetes.io/region"})
      if (const Value* label = found["metadata"]["labels"].find(key))
        r.object.member("metadata").member("labels").set(key, *label);
    co_return Result<void>{};
  }

 private:
  Objects objects_;
};

}  // namespace

std::unique_ptr<Plugin> pod_topology_labels(Objects objects) {
  return std::make_unique<PodTopologyLabels>(objects);
}

}  // namespace cardea::admission
