// node-authorizer.json: which users are nodes, which objects belong to which node, and the
// decisions of the Node authorizer.
#include "authz/node/node_authorizer.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "base/strings.h"
#include "conformance/conformance.h"
#include "json/print.h"

namespace cardea::conformance {
namespace {

using authz::node::Binding;
using authz::node::Features;
using authz::node::Graph;
using authz::node::Kind;
using authz::node::NodeAuthorizer;
using authz::node::Placement;
using authz::node::Vertex;
using json::Value;

constexpr const char* kKinds[] = {"node",
                                  "pod",
                                  "serviceAccount",
                                  "secret",
                                  "configmap",
                                  "pvc",
                                  "pv",
                                  "resourceclaim",
                                  "volumeattachment",
                                  "resourceslice",
                                  "podcertificaterequest"};

std::string print(const Vertex& v) {
  std::string kind = kKinds[static_cast<int>(v.kind)];
  return v.namespace_name.empty() ? cat(kind, ":", v.name)
                                  : cat(kind, ":", v.namespace_name, "/", v.name);
}

// The content of all objects of a file.
struct World {
  std::vector<Placement> placements;
  std::vector<Binding> bindings;
  std::set<std::pair<std::string, std::string>> edges;

  void place(const Placement& p) {
    if (p.objects.empty()) return;
    placements.push_back(p);
    auto pod = std::ranges::find(p.objects, Kind::kPod, &Vertex::kind);
    const Vertex& middle = pod == p.objects.end() ? p.objects[0] : *pod;
    edges.emplace(print(middle), cat("node:", p.node));
    for (const Vertex& v : p.objects)
      if (!(v == middle)) edges.emplace(print(v), print(middle));
  }
  void bind(const Binding& b) {
    if (b.empty()) return;
    bindings.push_back(b);
    edges.emplace(print(b.objects[0]), cat("pvc:", b.claim_namespace, "/", b.claim_name));
    for (std::size_t i = 1; i < b.objects.size(); ++i)
      edges.emplace(print(b.objects[i]), print(b.objects[0]));
  }
};

World read_world(const Value& objects) {
  World w;
  for (const Value& o : objects["pods"].items()) w.place(authz::node::placement_of_pod(o));
  for (const Value& o : objects["persistentVolumes"].items()) w.bind(authz::node::binding_of(o));
  for (const Value& o : objects["volumeAttachments"].items())
    w.place(authz::node::placement_of(Kind::kVolumeAttachment, o));
  for (const Value& o : objects["resourceSlices"].items())
    w.place(authz::node::placement_of(Kind::kResourceSlice, o));
  for (const Value& o : objects["podCertificateRequests"].items())
    w.place(authz::node::placement_of(Kind::kPodCertificateRequest, o));
  return w;
}

authz::User read_user(const Value& name, const Value& groups) {
  authz::User user{.name = std::string(name.as_string()), .groups = {}};
  for (const Value& g : groups.items()) user.groups.emplace_back(g.as_string());
  return user;
}

Features read_features(const Value& given) {
  // A case without features is about a release in which all features have their final state, except
  // these.
  Features f{.service_account_reads = true,
             .pod_certificate_requests = true,
             .cluster_trust_bundles = true};
  if (const Value* v = given.find("KubeletServiceAccountTokenForCredentialProviders"))
    f.service_account_reads = v->as_bool();
  if (const Value* v = given.find("PodCertificateRequest"))
    f.pod_certificate_requests = v->as_bool();
  if (const Value* v = given.find("ClusterTrustBundle")) f.cluster_trust_bundles = v->as_bool();
  if (const Value* v = given.find("CSIVolumeHealth")) f.csi_volume_health = v->as_bool();
  return f;
}

authz::Selectors read_fields(const Value& terms) {
  std::string text;
  for (const Value& t : terms.items())
    text += cat(text.empty() ? "" : ",", t["field"].as_string(), t["operator"].as_string(),
                t["value"].as_string());
  auto parsed = authz::read_selectors(text, "");
  return parsed ? *parsed : authz::Selectors{};
}

authz::Decision ask(const Graph& graph, const Value& r, const Features& features) {
  authz::User user = read_user(r["user"], r["groups"]);
  authz::Attributes a(user);
  authz::Selectors selectors = read_fields(r["fieldSelector"]);
  a.is_resource_request = !r.has("resourceRequest") || r["resourceRequest"].as_bool();
  a.verb = r["verb"].as_string();
  a.api_group = r["apiGroup"].as_string();
  a.namespace_name = r["namespace"].as_string();
  a.resource = r["resource"].as_string();
  a.subresource = r["subresource"].as_string();
  a.name = r["name"].as_string();
  if (!selectors.fields.empty()) a.selectors = &selectors;
  return *NodeAuthorizer(graph, features).authorize(a);
}

const char* kind_name(const authz::Decision& d) {
  return d.allowed() ? "Allow" : d.kind == authz::Decision::Kind::kNoOpinion ? "NoOpinion" : "Deny";
}

void check(Counts& counts, const Value& name, const authz::Decision& got, const Value& want) {
  bool ok = want["expect"].as_string() == kind_name(got) &&
            (!want.has("reason") || want["reason"].as_string() == got.reason.text());
  counts.check(ok);
  if (!ok)
    std::printf("node-authorizer %s: got %s (%s), want %s (%s)\n", json::print(name).c_str(),
                kind_name(got), got.reason.text().c_str(), json::print(want["expect"]).c_str(),
                json::print(want["reason"]).c_str());
}

void check_edges(Counts& counts, const World& world, const Value& want) {
  std::set<std::pair<std::string, std::string>> wanted;
  for (const Value& e : want.items()) wanted.emplace(e[0].as_string(), e[1].as_string());
  for (const auto& edge : wanted) {
    counts.check(world.edges.contains(edge));
    if (!world.edges.contains(edge))
      std::printf("node-authorizer: no edge %s -> %s\n", edge.first.c_str(), edge.second.c_str());
  }
  for (const auto& edge : world.edges)
    if (!wanted.contains(edge)) {
      counts.check(false);
      std::printf("node-authorizer: an edge too many, %s -> %s\n", edge.first.c_str(),
                  edge.second.c_str());
    }
}

// The short form of pods in sequences: secretVolumes instead of volumes.
Value expanded(Value pod) {
  Value volumes = Value::array();
  for (const Value& s : pod["spec"]["secretVolumes"].items())
    volumes.push_back(Value::object({{"secret", Value::object({{"secretName", s}})}}));
  pod.member("spec").set("volumes", volumes);
  return pod;
}

// Applies one step to `pod`; returns false if the step is not known.
bool apply_step(const Value& step, Value& pod) {
  if (const Value* change = step.find("updatePod")) {
    pod.member("spec").set("secretVolumes", (*change)["secretVolumes"]);
    pod = expanded(pod);
    return true;
  }
  if (const Value* change = step.find("addEphemeralContainer")) {
    bool is_secret = change->has("envFromSecret");
    Value name = (*change)[is_secret ? "envFromSecret" : "envFromConfigMap"];
    Value from = Value::object(
        {{is_secret ? "secretRef" : "configMapRef", Value::object({{"name", name}})}});
    pod.member("spec")
        .member("ephemeralContainers")
        .push_back(Value::object({{"envFrom", Value::array({from})}}));
    return true;
  }
  if (const Value* change = step.find("setExtendedResourceClaim")) {
    pod.member("status").member("extendedResourceClaimStatus").set("resourceClaimName", *change);
    return true;
  }
  return false;
}

void run_sequence(Counts& counts, std::string_view name, const Value& sequence) {
  SystemRandom random;
  Graph graph(random);
  std::vector<Value> pods;
  for (const Value& p : sequence["pods"].items()) pods.push_back(expanded(p));
  if (sequence.has("pod")) pods.push_back(expanded(sequence["pod"]));
  for (const Value& p : pods) graph.change({}, authz::node::placement_of_pod(p));
  for (const Value& step : sequence["steps"].items()) {
    if (const Value* get = step.find("get")) {
      Value request = *get;
      request.set("verb", "get");
      request.set("groups", Value::array({Value("system:nodes")}));
      check(counts, cat(name, " ", json::print(*get)), ask(graph, request, {}), step);
      continue;
    }
    std::string_view wanted = step["updatePod"]["name"].as_string();
    auto pod = std::ranges::find_if(pods, [&](const Value& p) {
      return wanted.empty() || p["metadata"]["name"].as_string() == wanted;
    });
    Placement before = pod == pods.end() ? Placement{} : authz::node::placement_of_pod(*pod);
    if (pod == pods.end() || !apply_step(step, *pod)) {
      counts.check(false);
      std::printf("node-authorizer %s: a step of an unknown sort, %s\n", std::string(name).c_str(),
                  json::print(step).c_str());
      continue;
    }
    graph.change(before, authz::node::placement_of_pod(*pod));
  }
}

}  // namespace

Counts run_node_authorizer(const std::string& path) {
  Counts counts;
  Value data = read(path);
  World world = read_world(data["objects"]);
  check_edges(counts, world, data["graphEdges"]);
  SystemRandom random;
  Graph graph(random);
  Graph::Changes fill;
  for (const auto& p : world.placements) fill.placements.push_back({{}, p});
  for (const auto& b : world.bindings) fill.bindings.push_back({{}, b});
  graph.change(fill);
  for (const Value& c : data["cases"].items())
    check(counts, c["name"], ask(graph, c["request"], read_features(c["features"])), c);
  for (const json::Member& m : data["sequences"].members()) run_sequence(counts, m.key(), m.value);
  for (const Value& row : data["nodeIdentity"].items()) {
    authz::User user = read_user(row["user"], row["groups"]);
    auto node = authz::node::node_of(user);
    bool ok = node.has_value() == row["isNode"].as_bool() &&
              node.value_or("") == row["node"].as_string();
    counts.check(ok);
    if (!ok) std::printf("node-authorizer: identity of %s\n", json::print(row).c_str());
  }
  return counts;
}

}  // namespace cardea::conformance
