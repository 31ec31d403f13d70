// exec, attach, portforward, log and proxy. They are authorized and admitted like any other request; then
// there is no node to talk to, and the answer says so in the words of a cluster whose nodes are not reachable.
#include "base/strings.h"
#include "rest/checks.h"
#include "rest/self_description.h"
#include "rest/status.h"
#include "rest/subresources.h"
#include "rest/write.h"

namespace cardea::rest {

using json::Value;

namespace {

std::vector<std::string> container_names(const Value& pod) {
  std::vector<std::string> names;
  for (auto list : {"containers", "initContainers", "ephemeralContainers"})
    for (const Value& c : pod["spec"][list].items()) names.emplace_back(c["name"].as_string());
  return names;
}

Result<void> check_container(const Value& pod, std::string_view wanted) {
  std::string_view name = pod["metadata"]["name"].as_string();
  std::vector<std::string> all = container_names(pod);
  if (wanted.empty()) {
    if (pod["spec"]["containers"].size() == 1) return {};
    return fail(bad_request(cat("a container name must be specified for pod ", name, ", choose one of: [", join(all, " "), "]")));
  }
  for (const std::string& n : all)
    if (n == wanted) return {};
  return fail(bad_request(cat("container ", wanted, " is not valid for pod ", name)));
}

Result<Answer> pod_answer(const Call& call, const Value& pod) {
  std::string_view kind = call.info.subresource;
  if (kind == "proxy") {
    if (pod["status"]["podIP"].as_string().empty()) return fail(bad_request("address not allowed"));
    return fail(Error::of(Reason::kServiceUnavailable, "error trying to reach service: no route to the pod's node"));
  }
  if (kind != "portforward")
    if (auto ok = check_container(pod, call.info.query.first("container").value_or("")); !ok) return fail(ok.error());
  std::string_view node = pod["spec"]["nodeName"].as_string();
  if (node.empty()) {
    if (kind == "log") {
      Answer nothing = text_answer(204, "");
      return nothing;
    }
    return fail(bad_request(cat("pod ", call.info.name, " does not have a host assigned")));
  }
  return fail(Error::of(Reason::kNotFound, cat("pods ", quoted(node), " not found"))
                  .with({.name = std::string(node), .kind = "pods"}));
}

}  // namespace

Task<Result<Answer>> connect(Call& call) {
  auto object = read_current(call);
  if (!object) co_return fail(object.error());
  if (call.info.subresource != "log") {
    admission::Review review = review_of(call, admission::Operation::kConnect, false, Value::object());
    review.object = *object;
    Result<void> admitted = co_await admit(call, review);
    if (!admitted) co_return fail(admitted.error());
  }
  if (call.resource->name == "pods") co_return pod_answer(call, *object);
  if (call.resource->name == "services")
    co_return fail(Error::of(Reason::kServiceUnavailable, cat("no endpoints available for service ", quoted(call.info.name))));
  co_return fail(Error::of(Reason::kServiceUnavailable, "no preferred addresses found; known addresses: []"));
}

}  // namespace cardea::rest
