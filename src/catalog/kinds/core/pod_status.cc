#include <set>

#include "catalog/kinds/check.h"
#include "catalog/kinds/core/pod_update.h"
#include "catalog/kinds/ip.h"
#include "json/print.h"

// pods/status: the fields that a kubelet may report.
namespace cardea::catalog {
namespace {

using std::string_view;

void validate_conditions(const Value& status, FieldErrors& out) {
  constexpr string_view kOwn[] = {"PodScheduled", "Ready", "Initialized"};
  each(status, "conditions", "status", [&](const Value& condition, const Path& at) {
    if (condition["observedGeneration"].as_int() < 0)
      out.push_back(json::invalid(at / "observedGeneration", condition["observedGeneration"],
                                  "must be a non-negative integer"));
    string_view type = text(condition, "type");
    if (!contains(kOwn, type)) complain(at / "Type", type, qualified_name(type), out);
  });
}

void validate_addresses(const Value& status, const Value& old, const char* key, FieldErrors& out) {
  Path path = Path("status") / key;
  const Value& list = status[key];
  for (std::size_t i = 0; i < list.size(); ++i) {
    string_view ip = text(list[i], "ip");
    bool known = std::ranges::any_of(old[key].items(),
                                     [&](const Value& o) { return text(o, "ip") == ip; });
    if (!known) validate_ip(path.index(i), ip, true, out);
  }
  if (list.size() < 2) return;
  auto first = parse_ip(text(list[0], "ip")), second = parse_ip(text(list[1], "ip"));
  if (list.size() > 2 || !first || !second || first->v4 == second->v4) {
    std::vector<std::string> shown;
    for (const Value& item : list.items())
      shown.push_back(cat("{\"IP\":", json::print(Value(text(item, "ip"))), "}"));
    out.push_back(json::shown_as(
        json::invalid(path, {}, "may specify no more than one IP for each IP family"),
        cat("[", join(shown, ","), "]")));
  }
}

// Whether a container that ended with this code may run again.
bool may_restart(const Value& container, const Value& spec, std::int64_t exit_code) {
  for (const Value& rule : container["restartPolicyRules"].items()) {
    const Value& codes = rule["exitCodes"];
    auto values = codes["values"].items();
    bool listed = std::ranges::find(values, Value(exit_code)) != values.end();
    if (text(codes, "operator") == "In" ? listed : !listed) return true;
  }
  string_view policy = text(container, "restartPolicy");
  if (policy.empty()) policy = text(spec, "restartPolicy");
  return policy == "Always" || (policy == "OnFailure" && exit_code != 0);
}

bool restarts_all(const Value& spec) {
  for (const char* key : {"containers", "initContainers"})
    for (const Value& container : spec[key].items())
      for (const Value& rule : container["restartPolicyRules"].items())
        if (text(rule, "action") == "RestartAllContainers") return true;
  return false;
}

void validate_transitions(const Value& status, const Value& old, const char* statuses,
                          const char* containers, const Value& spec, FieldErrors& out) {
  const Value& before = old[statuses];
  for (std::size_t i = 0; i < before.size(); ++i) {
    const Value& terminated = before[i]["state"]["terminated"];
    if (terminated.is_null()) continue;
    string_view name = text(before[i], "name");
    auto now = status[statuses].items();
    auto found = std::ranges::find_if(now, [&](const Value& s) { return text(s, "name") == name; });
    if (found == now.end() || present((*found)["state"], "terminated")) continue;
    auto list = spec[containers].items();
    auto container = std::ranges::find_if(list,
                                          [&](const Value& c) { return text(c, "name") == name; });
    bool allowed = container != list.end() &&
                   may_restart(*container, spec, terminated["exitCode"].as_int());
    if (!allowed)
      out.push_back(json::forbidden((Path("status") / statuses).index(i) / "state",
                                    "may not be transitioned to non-terminated state"));
  }
}

void validate_claim_statuses(const Value& status, const Value& spec, FieldErrors& out) {
  std::set<string_view> names;
  each(status, "resourceClaimStatuses", "status", [&](const Value& claim, const Path& at) {
    string_view name = text(claim, "name");
    if (std::ranges::none_of(spec["resourceClaims"].items(),
                             [&](const Value& c) { return text(c, "name") == name; }))
      out.push_back(json::invalid(at / "name", name,
                                  "must match the name of an entry in `spec.resourceClaims`"));
    if (!names.insert(name).second) out.push_back(json::duplicate(at / "name", name));
    if (present(claim, "resourceClaimName"))
      complain(at / "resourceClaimName", text(claim, "resourceClaimName"),
               dns1123_subdomain(text(claim, "resourceClaimName")), out);
  });
}

}  // namespace

FieldErrors validate_pod_status(const Value& pod, const Value& old, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta_update(pod, old, out);
  validate_pod_annotation_changes(pod, old, out);
  const Value &status = pod["status"], &before = old["status"], &spec = old["spec"];
  validate_conditions(status, out);
  string_view nominated = text(status, "nominatedNodeName");
  bool renominated = !nominated.empty() && nominated != text(before, "nominatedNodeName");
  if (renominated)
    complain("status.nominatedNodeName", nominated, dns1123_subdomain(nominated), out);
  if (renominated && !text(spec, "nodeName").empty())
    out.push_back(json::forbidden("status.nominatedNodeName",
                                  "may not be set on pods that are already bound to a node"));
  if (status["observedGeneration"].as_int() < 0)
    out.push_back(json::invalid("status.observedGeneration", status["observedGeneration"],
                                "must be a non-negative integer"));
  if (text(status, "qosClass") != text(before, "qosClass"))
    out.push_back(
        json::invalid("status.qosClass", text(status, "qosClass"), std::string(kFieldIsImmutable)));
  if (!restarts_all(spec)) {
    validate_transitions(status, before, "containerStatuses", "containers", spec, out);
    validate_transitions(status, before, "initContainerStatuses", "initContainers", spec, out);
  }
  validate_transitions(status, before, "ephemeralContainerStatuses", "", spec, out);
  validate_claim_statuses(status, pod["spec"], out);
  validate_addresses(status, before, "podIPs", out);
  if (!status["hostIPs"].empty() && text(status, "hostIP") != text(status["hostIPs"][0], "ip"))
    out.push_back(json::invalid("status.hostIPs[0].ip", text(status["hostIPs"][0], "ip"),
                                "must be equal to `hostIP`"));
  validate_addresses(status, before, "hostIPs", out);
  return out;
}

}  // namespace cardea::catalog
