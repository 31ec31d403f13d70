#include <string_view>

#include "base/result.h"
#include "base/strings.h"
#include "catalog/kinds/strategies.h"
#include "json/parse.h"

namespace cardea::catalog {
namespace {

// One object per line: kind, name, spec. The order is the one in which a new server lists them.
constexpr std::string_view kObjects =
    R"({"kind":"PriorityLevelConfiguration","name":"catch-all","spec":{"limited":{"lendablePercent":0,)"
    R"("limitResponse":{"type":"Reject"},"nominalConcurrencyShares":5},"type":"Limited"}})"
    "\n"
    R"({"kind":"PriorityLevelConfiguration","name":"exempt","spec":{"exempt":{"lendablePercent":0,)"
    R"("nominalConcurrencyShares":0},"type":"Exempt"}})"
    "\n"
    R"({"kind":"PriorityLevelConfiguration","name":"global-default",)"
    R"("spec":{"limited":{"lendablePercent":50,"limitResponse":{"queuing":{"handSize":6,)"
    R"("queueLengthLimit":50,"queues":128},"type":"Queue"},"nominalConcurrencyShares":20},)"
    R"("type":"Limited"}})"
    "\n"
    R"({"kind":"PriorityLevelConfiguration","name":"leader-election",)"
    R"("spec":{"limited":{"lendablePercent":0,"limitResponse":{"queuing":{"handSize":4,)"
    R"("queueLengthLimit":50,"queues":16},"type":"Queue"},"nominalConcurrencyShares":10},"type":"Limited"}})"
    "\n"
    R"({"kind":"PriorityLevelConfiguration","name":"node-high","spec":{"limited":{"lendablePercent":25,)"
    R"("limitResponse":{"queuing":{"handSize":6,"queueLengthLimit":50,"queues":64},"type":"Queue"},)"
    R"("nominalConcurrencyShares":40},"type":"Limited"}})"
    "\n"
    R"({"kind":"PriorityLevelConfiguration","name":"system","spec":{"limited":{"lendablePercent":33,)"
    R"("limitResponse":{"queuing":{"handSize":6,"queueLengthLimit":50,"queues":64},"type":"Queue"},)"
    R"("nominalConcurrencyShares":30},"type":"Limited"}})"
    "\n"
    R"({"kind":"PriorityLevelConfiguration","name":"workload-high","spec":{"limited":{"lendablePercent":50,)"
    R"("limitResponse":{"queuing":{"handSize":6,"queueLengthLimit":50,"queues":128},"type":"Queue"},)"
    R"("nominalConcurrencyShares":40},"type":"Limited"}})"
    "\n"
    R"({"kind":"PriorityLevelConfiguration","name":"workload-low","spec":{"limited":{"lendablePercent":90,)"
    R"("limitResponse":{"queuing":{"handSize":6,"queueLengthLimit":50,"queues":128},"type":"Queue"},)"
    R"("nominalConcurrencyShares":100},"type":"Limited"}})"
    "\n"
    R"({"kind":"FlowSchema","name":"catch-all","spec":{"distinguisherMethod":{"type":"ByUser"},)"
    R"("matchingPrecedence":10000,"priorityLevelConfiguration":{"name":"catch-all"},)"
    R"("rules":[{"nonResourceRules":[{"nonResourceURLs":["*"],"verbs":["*"]}],)"
    R"("resourceRules":[{"apiGroups":["*"],"clusterScope":true,"namespaces":["*"],"resources":["*"],)"
    R"("verbs":["*"]}],"subjects":[{"group":{"name":"system:unauthenticated"},"kind":"Group"},)"
    R"({"group":{"name":"system:authenticated"},"kind":"Group"}]}]}})"
    "\n"
    R"({"kind":"FlowSchema","name":"exempt","spec":{"matchingPrecedence":1,)"
    R"("priorityLevelConfiguration":{"name":"exempt"},)"
    R"("rules":[{"nonResourceRules":[{"nonResourceURLs":["*"],"verbs":["*"]}],)"
    R"("resourceRules":[{"apiGroups":["*"],"clusterScope":true,"namespaces":["*"],"resources":["*"],)"
    R"("verbs":["*"]}],"subjects":[{"group":{"name":"system:masters"},"kind":"Group"}]}]}})"
    "\n"
    R"({"kind":"FlowSchema","name":"global-default","spec":{"distinguisherMethod":{"type":"ByUser"},)"
    R"("matchingPrecedence":9900,"priorityLevelConfiguration":{"name":"global-default"},)"
    R"("rules":[{"nonResourceRules":[{"nonResourceURLs":["*"],"verbs":["*"]}],)"
    R"("resourceRules":[{"apiGroups":["*"],"clusterScope":true,"namespaces":["*"],"resources":["*"],)"
    R"("verbs":["*"]}],"subjects":[{"group":{"name":"system:unauthenticated"},"kind":"Group"},)"
    R"({"group":{"name":"system:authenticated"},"kind":"Group"}]}]}})"
    "\n"
    R"({"kind":"FlowSchema","name":"kube-controller-manager",)"
    R"("spec":{"distinguisherMethod":{"type":"ByNamespace"},"matchingPrecedence":800,)"
    R"("priorityLevelConfiguration":{"name":"workload-high"},)"
    R"("rules":[{"nonResourceRules":[{"nonResourceURLs":["*"],"verbs":["*"]}],)"
    R"("resourceRules":[{"apiGroups":["*"],"clusterScope":true,"namespaces":["*"],"resources":["*"],)"
    R"("verbs":["*"]}],"subjects":[{"kind":"User","user":{"name":"system:kube-controller-manager"}}]}]}})"
    "\n"
    R"({"kind":"FlowSchema","name":"kube-scheduler","spec":{"distinguisherMethod":{"type":"ByNamespace"},)"
    R"("matchingPrecedence":800,"priorityLevelConfiguration":{"name":"workload-high"},)"
    R"("rules":[{"nonResourceRules":[{"nonResourceURLs":["*"],"verbs":["*"]}],)"
    R"("resourceRules":[{"apiGroups":["*"],"clusterScope":true,"namespaces":["*"],"resources":["*"],)"
    R"("verbs":["*"]}],"subjects":[{"kind":"User","user":{"name":"system:kube-scheduler"}}]}]}})"
    "\n"
    R"({"kind":"FlowSchema","name":"kube-system-service-accounts",)"
    R"("spec":{"distinguisherMethod":{"type":"ByNamespace"},"matchingPrecedence":900,)"
    R"("priorityLevelConfiguration":{"name":"workload-high"},)"
    R"("rules":[{"nonResourceRules":[{"nonResourceURLs":["*"],"verbs":["*"]}],)"
    R"("resourceRules":[{"apiGroups":["*"],"clusterScope":true,"namespaces":["*"],"resources":["*"],)"
    R"("verbs":["*"]}],"subjects":[{"kind":"ServiceAccount","serviceAccount":{"name":"*",)"
    R"("namespace":"kube-system"}}]}]}})"
    "\n"
    R"({"kind":"FlowSchema","name":"probes","spec":{"matchingPrecedence":2,)"
    R"("priorityLevelConfiguration":{"name":"exempt"},)"
    R"("rules":[{"nonResourceRules":[{"nonResourceURLs":["/healthz","/readyz","/livez"],"verbs":["get"]}],)"
    R"("subjects":[{"group":{"name":"system:unauthenticated"},"kind":"Group"},)"
    R"({"group":{"name":"system:authenticated"},"kind":"Group"}]}]}})"
    "\n"
    R"({"kind":"FlowSchema","name":"service-accounts","spec":{"distinguisherMethod":{"type":"ByUser"},)"
    R"("matchingPrecedence":9000,"priorityLevelConfiguration":{"name":"workload-low"},)"
    R"("rules":[{"nonResourceRules":[{"nonResourceURLs":["*"],"verbs":["*"]}],)"
    R"("resourceRules":[{"apiGroups":["*"],"clusterScope":true,"namespaces":["*"],"resources":["*"],)"
    R"("verbs":["*"]}],"subjects":[{"group":{"name":"system:serviceaccounts"},"kind":"Group"}]}]}})"
    "\n"
    R"({"kind":"FlowSchema","name":"system-leader-election",)"
    R"("spec":{"distinguisherMethod":{"type":"ByUser"},"matchingPrecedence":100,)"
    R"("priorityLevelConfiguration":{"name":"leader-election"},)"
    R"("rules":[{"resourceRules":[{"apiGroups":["coordination.k8s.io"],"namespaces":["*"],)"
    R"("resources":["leases"],"verbs":["get","create","update"]}],"subjects":[{"kind":"User",)"
    R"("user":{"name":"system:kube-controller-manager"}},{"kind":"User",)"
    R"("user":{"name":"system:kube-scheduler"}},{"kind":"ServiceAccount","serviceAccount":{"name":"*",)"
    R"("namespace":"kube-system"}}]}]}})"
    "\n"
    R"({"kind":"FlowSchema","name":"system-node-high","spec":{"distinguisherMethod":{"type":"ByUser"},)"
    R"("matchingPrecedence":400,"priorityLevelConfiguration":{"name":"node-high"},)"
    R"("rules":[{"resourceRules":[{"apiGroups":[""],"clusterScope":true,"namespaces":["*"],)"
    R"("resources":["nodes","nodes/status"],"verbs":["*"]},{"apiGroups":["coordination.k8s.io"],)"
    R"("namespaces":["*"],"resources":["leases"],"verbs":["*"]}],)"
    R"("subjects":[{"group":{"name":"system:nodes"},"kind":"Group"}]}]}})"
    "\n"
    R"({"kind":"FlowSchema","name":"system-nodes","spec":{"distinguisherMethod":{"type":"ByUser"},)"
    R"("matchingPrecedence":500,"priorityLevelConfiguration":{"name":"system"},)"
    R"("rules":[{"nonResourceRules":[{"nonResourceURLs":["*"],"verbs":["*"]}],)"
    R"("resourceRules":[{"apiGroups":["*"],"clusterScope":true,"namespaces":["*"],"resources":["*"],)"
    R"("verbs":["*"]}],"subjects":[{"group":{"name":"system:nodes"},"kind":"Group"}]}]}})";

}  // namespace

std::vector<json::Value> bootstrap_flow_control(std::string_view now) {
  using json::Value;
  std::vector<Value> objects;
  for (std::string_view line : split(kObjects, '\n')) {
    auto entry = json::parse(line);
    CARDEA_CHECK(entry);
    Value status = Value::object();
    if ((*entry)["kind"].as_string() == "FlowSchema") {
      std::string_view level = (*entry)["spec"]["priorityLevelConfiguration"]["name"].as_string();
      status.set(
          "conditions",
          Value::array({Value::object(
              {{"type", "Dangling"},
               {"status", "False"},
               {"lastTransitionTime", now},
               {"reason", "Found"},
               {"message",
                cat("This FlowSchema references the PriorityLevelConfiguration object named ",
                    quoted(level), " and it exists")}})}));
    }
    objects.push_back(Value::object({
        {"apiVersion", "flowcontrol.apiserver.k8s.io/v1"},
        {"kind", (*entry)["kind"]},
        {"metadata",
         Value::object(
             {{"name", (*entry)["name"]},
              {"generation", 1},
              {"annotations", Value::object({{"apf.kubernetes.io/autoupdate-spec", "true"}})}})},
        {"spec", (*entry)["spec"]},
        {"status", status},
    }));
  }
  return objects;
}

}  // namespace cardea::catalog
