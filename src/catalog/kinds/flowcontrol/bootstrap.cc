#include <string_view>

#include "base/result.h"
#include "base/strings.h"
#include "catalog/kinds/strategies.h"
#include "json/parse.h"

namespace cardea::catalog {
namespace {

// One object per line: kind, name, spec. The order is the one in which a new server lists them.
constexpr std::string_view kObjects =
    R"({"kind":"PriorityLevelConfiguration","name":"catch-all",)"
    R"("spec":{"limited":{"lendablePercent":0,"limitResponse":{"type":"Reject"},)"
    R"("nominalConcurrencyShares":5},"type":"Limited"}})"
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
    R"("queueLengthLimit":50,"queues":16},"type":"Queue"},"nominalConcurrencyShares":10},)"
    R"("type":"Limited"}})"
    "\n"
    R"({"kind":"PriorityLevelConfiguration","name":"node-high",)"
    R"("spec":{"limited":{"lendablePercent":25,"limitResponse":{"queuing":{"handSize":6,)"
    R"("queueLengthLimit":50,"queues":64},"type":"Queue"},"nominalConcurrencyShares":40},)"
    R"("type":"Limited"}})"
    "\n"
    R"({"kind":"PriorityLevelConfiguration","name":"system","spec":{)"
    R"("limited":{"lendablePercent":33,"limitResponse":{"queuing":{"handSize":6,)"
    R"("queueLengthLimit":50,"queues":64},"type":"Queue"},"nominalConcurrencyShares":30},)"
    R"("type":"Limited"}})"
    "\n"
    R"({"kind":"PriorityLevelConfiguration","name":"workload-high",)"
    R"("spec":{"limited":{"lendablePercent":50,"limitResponse":{"queuing":{"handSize":6,)"
    R"("queueLengthLimit":50,"queues":128},"type":"Queue"},"nominalConcurrencyShares":40},)"
    R"("type":"Limited"}})"
    "\n"
    R"({"kind":"PriorityLevelConfiguration","name":"workload-low",)"
    R"("spec":{"limited":{"lendablePercent":90,"limitResponse":{"queuing":{"handSize":6,)"
    R"("queueLengthLimit":50,"queues":128},"type":"Queue"},"nominalConcurrencyShares":100},)"
    R"("type":"Limited"}})"
    "\n"
    R"({"kind":"FlowSchema","name":"catch-all","spec":{"distinguisherMethod":{"type":"ByUser"},)"
    R"("matchingPrecedence":10000,"priorityLevelConfiguration":{"name":"catch-all"},)"
    R"("rules":[{"nonResourceRules":[{"nonResourceURLs":["*"],"verbs":["*"]}],)"
    R"("resourceRules":[{"apiGroups":["*"],"clusterScope":true,"namespaces":["*"],)"
    R"("resources":["*"],"verbs":["*"]}],"subjects":[{"group":{"name":"system:unauthenticated"},)"
    R"("kind":"Group"},{"group":{"name":"system:authenticated"},"kind":"Group"}]}]}})"
    "\n"
    R"({"kind":"FlowSchema","name":"exempt","spec":{"matchingPrecedence":1,)"
    R"("priorityLevelConfiguration":{"name":"exempt"},"rules":[)"
    R"({"nonResourceRules":[{"nonResourceURLs":["*"],"verbs":["*"]}],)"
    R"("resourceRules":[{"apiGroups":["*"],"clusterScope":true,"namespaces":["*"],)"
    R"("resources":["*"],"verbs":["*"]}],"subjects":[{"group":{"name":"system:masters"},)"
    R"("kind":"Group"}]}]}})"
    "\n"
    R"({"kind":"FlowSchema","name":"global-default","spec":{"distinguisherMethod":{)"
    R"("type":"ByUser"},"matchingPrecedence":9900,"priorityLevelConfiguration":{)"
    R"("name":"global-default"},"rules":[{"nonResourceRules":[{"nonResourceURLs":["*"],)"
    R"("verbs":["*"]}],"resourceRules":[{"apiGroups":["*"],"clusterScope":true,"namespaces":["*"],)"
    R"("resources":["*"],"verbs":["*"]}],"subjects":[{"group":{"name":"system:unauthenticated"},)"
    R"("kind":"Group"},{"group":{"name":"system:authenticated"},"kind":"Group"}]}]}})"
    "\n"
    R"({"kind":"FlowSchema","name":"kube-controller-manager","spec":{)"
    R"("distinguisherMethod":{"type":"ByNamespace"},"matchingPrecedence":800,)"
    R"("priorityLevelConfiguration":{"name":"workload-high"},"rules":[)"
    R"({"nonResourceRules":[{"nonResourceURLs":["*"],"verbs":["*"]}],)"
    R"("resourceRules":[{"apiGroups":["*"],"clusterScope":true,"namespaces":["*"],)"
    R"("resources":["*"],"verbs":["*"]}],"subjects":[{"kind":"User",)"
    R"("user":{"name":"system:kube-controller-manager"}}]}]}})"
    "\n"
    R"({"kind":"FlowSchema","name":"kube-scheduler","spec":{"distinguisherMethod":{)"
    R"("type":"ByNamespace"},"matchingPrecedence":800,"priorityLevelConfiguration":{)"
    R"("name":"workload-high"},"rules":[{"nonResourceRules":[{"nonResourceURLs":["*"],)"
    R"("verbs":["*"]}],"resourceRules":[{"apiGroups":["*"],"clusterScope":true,"namespaces":["*"],)"
    R"("resources":["*"],"verbs":["*"]}],"subjects":[{"kind":"User",)"
    R"("user":{"name":"system:kube-scheduler"}}]}]}})"
    "\n"
    R"({"kind":"FlowSchema","name":"kube-system-service-accounts",)"
    R"("spec":{"distinguisherMethod":{"type":"ByNamespace"},"matchingPrecedence":900,)"
    R"("priorityLevelConfiguration":{"name":"workload-high"},"rules":[)"
    R"({"nonResourceRules":[{"nonResourceURLs":["*"],"verbs":["*"]}],)"
    R"("resourceRules":[{"apiGroups":["*"],"clusterScope":true,"namespaces":["*"],)"
    R"("resources":["*"],"verbs":["*"]}],"subjects":[{"kind":"ServiceAccount",)"
    R"("serviceAccount":{"name":"*","namespace":"kube-system"}}]}]}})"
    "\n"
    R"({"kind":"FlowSchema","name":"probes","spec":{"matchingPrecedence":2,)"
    R"("priorityLevelConfiguration":{"name":"exempt"},"rules":[)"
    R"({"nonResourceRules":[{"nonResourceURLs":["/healthz","/readyz","/livez"],"verbs":["get"]}],)"
    R"("subjects":[{"group":{"name":"system:unauthenticated"},"kind":"Group"},)"
    R"({"group":{"name":"system:authenticated"},"kind":"Group"}]}]}})"
    "\n"
    R"({"kind":"FlowSchema","name":"service-accounts","spec":{)"
    R"("distinguisherMethod":{"type":"ByUser"},"matchingPrecedence":9000,)"
    R"("priorityLevelConfiguration":{"name":"workload-low"},"rules":[)"
    R"({"nonResourceRules":[{"nonResourceURLs":["*"],"verbs":["*"]}],)"
    R"("resourceRules":[{"apiGroups":["*"],"clusterScope":true,"namespaces":["*"],)"
    R"("resources":["*"],"verbs":["*"]}],"subjects":[{"group":{"name":"system:serviceaccounts"},)"
    R"("kind":"Group"}]}]}})"
    "\n"
    R"({"kind":"FlowSchema","name":"system-leader-election","spec":{)"
    R"("distinguisherMethod":{"type":"ByUser"},"matchingPrecedence":100,)"
    R"("priorityLevelConfiguration":{"name":"leader-election"},)"
    R"("rules":[{"resourceRules":[{"apiGroups":["coordination.k8s.io"],"namespaces":["*"],)"
    R"("resources":["leases"],"verbs":["get","create","update"]}],)"
    R"("subjects":[{"kind":"User","user":{"name":"system:kube-controller-manager"}},)"
    R"({"kind":"User","user":{"name":"system:kube-scheduler"}},)"
    R"({"kind":"ServiceAccount","serviceAccount":{"name":"*","namespace":"kube-system"}}]}]}})"
    "\n"
    R"({"kind":"FlowSchema","name":"system-node-high","spec":{)"
    R"("distinguisherMethod":{"type":"ByUser"},"matchingPrecedence":400,)"
    R"("priorityLevelConfiguration":{"name":"node-high"},"rules":[)"
    R"({"resourceRules":[{"apiGroups":[""],"clusterScope":true,"namespaces":["*"],)"
    R"("resources":["nodes","nodes/status"],"verbs":["*"]},{"apiGroups":["coordination.k8s.io"],)"
    R"("namespaces":["*"],"resources":["leases"],"verbs":["*"]}],)"
    R"("subjects":[{"group":{"name":"system:nodes"},"kind":"Group"}]}]}})"
    "\n"
    R"({"kind":"FlowSchema","name":"system-nodes","spec":{"distinguisherMethod":{"type":"ByUser"},)"
    R"("matchingPrecedence":500,"priorityLevelConfiguration":{"name":"system"},)"
    R"("rules":[{"nonResourceRules":[{"nonResourceURLs":["*"],"verbs":["*"]}],)"
    R"("resourceRules":[{"apiGroups":["*"],"clusterScope":true,"namespaces":["*"],)"
    R"("resources":["*"],"verbs":["*"]}],"subjects":[{"group":{"name":"system:nodes"},)"
    R"("kind":"Group"}]}]}})";

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
