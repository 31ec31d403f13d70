#pragma once
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace cardea::authz::node {

enum class Kind : std::uint8_t {
  kNode,
  kPod,
  kServiceAccount,
  kSecret,
  kConfigMap,
  kClaim,
  kVolume,
  kResourceClaim,
  kVolumeAttachment,
  kResourceSlice,
  kPodCertificateRequest,
};

struct Vertex {
  Kind kind;
  std::string namespace_name, name;
  friend auto operator<=>(const Vertex&, const Vertex&) = default;
};

// The statement of one stored object: everything in `objects` is needed on `node`. No statement
// when `node` is empty. Sorted, without repetition.
struct Placement {
  std::string node;
  std::vector<Vertex> objects;
  friend bool operator==(const Placement&, const Placement&) = default;
};

// A pod, and the objects that its containers and volumes refer to. A mirror pod has no
// references: nodes create mirror pods, and must not get access to objects by them.
Placement placement_of_pod(const json::Value& pod);
// A VolumeAttachment, ResourceSlice or PodCertificateRequest: needed on its spec.nodeName.
Placement placement_of(Kind kind, const json::Value& object);

// A PersistentVolume: needed, with the secrets that kubelets read, wherever the claim is
// needed. No statement without a claim.
struct Binding {
  std::string claim_namespace, claim_name;
  std::vector<Vertex> objects;  // the volume first
  bool empty() const { return objects.empty(); }
  friend bool operator==(const Binding&, const Binding&) = default;
};
Binding binding_of(const json::Value& volume);

// The names of what a pod refers to, in its containers and volumes; "" never.
std::vector<std::string> secrets_of_pod(const json::Value& pod);
std::vector<std::string> config_maps_of_pod(const json::Value& pod);

}  // namespace cardea::authz::node
