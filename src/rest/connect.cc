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

// What admission reviews: the parameters of the connection, as the API has types for them.
Value connect_options(const Call& call) {
  const authz::Query& query = call.info.query;
  const std::string& sub = call.info.subresource;
  const auto make = [](std::string kind) { return Value::object({{"kind", std::move(kind)}, {"apiVersion", "v1"}}); };
  if (sub == "proxy") {
    const std::string_view resource = call.resource->name;
    Value out = make(resource == "pods" ? "PodProxyOptions" : resource == "services" ? "ServiceProxyOptions" : "NodeProxyOptions");
    std::string path;
    for (std::size_t i = 3; i < call.info.parts.size(); ++i) path += cat("/", call.info.parts[i]);
    if (!path.empty()) out.set("path", path);
    return out;
  }
  if (sub == "portforward") {
    Value out = make("PodPortForwardOptions");
    for (std::string_view list : query.all("ports"))
      for (std::string_view port : split(list, ','))
        if (auto number = parse_int(port)) out.member("ports").push_back(*number);
    return out;
  }
  Value out = make(sub == "exec" ? "PodExecOptions" : "PodAttachOptions");
  for (const char* key : {"stdin", "stdout", "stderr", "tty"})
    if (auto given = query.first(key); given && authz::is_true_parameter(*given)) out.set(key, true);
  if (auto container = query.first("container"); container && !container->empty()) out.set("container", *container);
  for (std::string_view word : query.all("command")) out.member("command").push_back(word);
  return out;
}

}  // namespace

Task<Result<Answer>> connect(Call& call) {
  auto object = read_current(call);
  if (!object) co_return fail(object.error());
  if (call.info.subresource != "log") {
    admission::Review review = review_of(call, admission::Operation::kConnect, false, Value());
    review.object = connect_options(call);
    Result<void> admitted = co_await admit(call, review);
    if (!admitted) co_return fail(admitted.error());
  }
  if (call.resource->name == "pods") co_return pod_answer(call, *object);
  if (call.resource->name == "services")
    co_return fail(Error::of(Reason::kServiceUnavailable, cat("no endpoints available for service ", quoted(call.info.name))));
  co_return fail(Error::of(Reason::kServiceUnavailable, "no preferred addresses found; known addresses: []"));
}

}  // namespace cardea::rest
