// exec, attach, portforward, log and proxy. They are authorized and admitted like any other
// request; then there is no node to talk to, and the answer says so in the words of a cluster whose
// nodes are not reachable.
#include <charconv>

#include "base/strings.h"
#include "base/time_parse.h"
#include "json/field_error.h"
#include "rest/asking.h"
#include "rest/present/self_description.h"
#include "rest/present/status.h"
#include "rest/verbs/subresources.h"
#include "rest/write/field_permissions.h"
#include "rest/write/stored_object.h"
#include "rest/write/write.h"

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
    return fail(bad_request(cat("a container name must be specified for pod ", name,
                                ", choose one of: [", join(all, " "), "]")));
  }
  for (const std::string& n : all)
    if (n == wanted) return {};
  return fail(bad_request(cat("container ", wanted, " is not valid for pod ", name)));
}

// A proxy's target as the path names it: NAME, NAME:PORT or SCHEME:NAME:PORT.
struct Target {
  std::string name, port;
};

Result<Target> target_of(const Call& call) {
  std::string_view text = call.info.name;
  if (call.info.subresource != "proxy") return Target{std::string(text), ""};
  auto parts = split(text, ':');
  bool fits = parts.size() < 3 || (parts.size() == 3 &&
                                   (parts[0].empty() || parts[0] == "http" || parts[0] == "https"));
  if (parts.size() == 3) parts.erase(parts.begin());
  if (!fits || parts[0].empty()) {
    std::string_view kind = call.resource->singular;
    return fail(bad_request(cat("invalid ", kind, " request ", quoted(text))));
  }
  return Target{std::string(parts[0]), parts.size() > 1 ? std::string(parts[1]) : ""};
}

Result<Value> read_named(const Call& call, const catalog::Resource& r,
                         std::string_view namespace_name, std::string_view name) {
  store::RecordPtr record = call.services.store.get(object_key(r, namespace_name, name));
  if (!record) return fail(not_found(r, name));
  return parse_stored(*record);  // these kinds have one version
}

Result<void> check_log_options(const Call& call) {
  const authz::Query& query = call.info.query;
  json::FieldErrors errors;
  for (std::string_view key : {"tailLines", "limitBytes", "sinceSeconds"}) {
    auto text = query.first(key);
    if (!text) continue;
    std::int64_t value = 0, least = key == "tailLines" ? 0 : 1;
    auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (error != std::errc{} || end != text->data() + text->size())
      return fail(
          bad_request(cat("strconv.ParseInt: parsing ", quoted(*text), ": invalid syntax")));
    if (key == "sinceSeconds" && query.first("sinceTime"))
      errors.push_back(
          json::forbidden("[]", "at most one of `sinceTime` or `sinceSeconds` may be specified"));
    else if (value < least)
      errors.push_back(json::invalid(
          std::string(key), value,
          least == 0 ? "must be greater than or equal to 0" : "must be greater than 0"));
  }
  if (auto text = query.first("sinceTime"))
    if (auto time = parse_rfc3339(*text); !time) return fail(bad_request(time.error().message));
  if (query.first("stream")) errors.push_back(json::forbidden("stream", "may not be specified"));
  if (!errors.empty())
    return fail(json::invalid_object("", "PodLogOptions", call.info.name, errors));
  return {};
}

// A node is never reached from here; what is known of it decides the words.
Error unreachable(const Value& node) {
  std::vector<std::string> known;
  for (const Value& address : node["status"]["addresses"].items())
    known.emplace_back(address["address"].as_string());
  if (known.empty())
    return Error::of(Reason::kServiceUnavailable,
                     "no preferred addresses found; known addresses: []");
  return Error::of(Reason::kServiceUnavailable,
                   cat("error dialing backend: no connection to node ",
                       quoted(node["metadata"]["name"].as_string()), " at ", join(known, ", ")));
}

bool has_port(const Value& service, std::string_view wanted) {
  for (const Value& port : service["spec"]["ports"].items())
    if (port["name"].as_string() == wanted || std::to_string(port["port"].as_int()) == wanted)
      return true;
  return wanted.empty();
}

Result<Answer> pod_answer(const Call& call, const Value& pod) {
  std::string_view kind = call.info.subresource;
  if (kind == "proxy") {
    if (pod["status"]["podIP"].as_string().empty()) return fail(bad_request("address not allowed"));
    return fail(Error::of(Reason::kServiceUnavailable,
                          "error trying to reach service: no route to the pod's node"));
  }
  if (kind != "portforward")
    if (auto ok = check_container(pod, call.info.query.first("container").value_or("")); !ok)
      return fail(ok.error());
  std::string_view node = pod["spec"]["nodeName"].as_string();
  if (node.empty()) {
    if (kind == "log") {
      Answer nothing = text_answer(204, "");
      return nothing;
    }
    return fail(bad_request(cat("pod ", call.info.name, " does not have a host assigned")));
  }
  if (auto found = read_named(call, *call.catalog->find("", "v1", "nodes"), "", node))
    return fail(unreachable(*found));
  return fail(Error::of(Reason::kNotFound, cat("pods ", quoted(node), " not found"))
                  .with({.name = std::string(node), .kind = "pods"}));
}

// What admission reviews: the parameters of the connection, as the API has types for them.
Value connect_options(const Call& call) {
  const authz::Query& query = call.info.query;
  const std::string& sub = call.info.subresource;
  const auto make = [](std::string kind) {
    return Value::object({{"kind", std::move(kind)}, {"apiVersion", "v1"}});
  };
  if (sub == "proxy") {
    const std::string_view resource = call.resource->name;
    Value out = make(resource == "pods"       ? "PodProxyOptions"
                     : resource == "services" ? "ServiceProxyOptions"
                                              : "NodeProxyOptions");
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
    if (auto given = query.first(key); given && authz::is_true_parameter(*given))
      out.set(key, true);
  if (auto container = query.first("container"); container && !container->empty())
    out.set("container", *container);
  for (std::string_view word : query.all("command")) out.member("command").push_back(word);
  return out;
}

// A WebSocket client connects with GET. Running a command in a container, or reaching its ports,
// takes the verb `create` whatever the method is.
bool takes_create(const Call& call) {
  const std::string& sub = call.info.subresource;
  return call.info.verb != "create" && (sub == "exec" || sub == "attach" || sub == "portforward");
}

Task<Result<void>> authorize_create(Call& call) {
  authz::Attributes attributes{call.user, call.info};
  attributes.verb = "create";
  authz::Chain::Verdict verdict = co_await ask_chain(call, call.chain, attributes);
  if (verdict.decision.allowed()) co_return Result<void>();
  std::string reason = verdict.decision.error.empty() ? verdict.decision.reason.text()
                                                      : verdict.decision.error;
  note_refusal(call, reason);
  co_return fail(authz::forbidden(attributes, reason));
}

}  // namespace

Task<Result<Answer>> connect(Call& call) {
  if (takes_create(call)) {
    Result<void> may = co_await authorize_create(call);
    if (!may) co_return fail(may.error());
  }
  if (call.info.subresource == "log")
    if (auto ok = check_log_options(call); !ok) co_return fail(ok.error());
  auto target = target_of(call);
  if (!target) co_return fail(target.error());
  auto object = read_named(call, *call.resource, call.info.namespace_name, target->name);
  if (!object) co_return fail(object.error());
  if (call.info.subresource != "log") {
    admission::Review review = review_of(call, admission::Operation::kConnect, false, Value());
    review.object = connect_options(call);
    Result<void> admitted = co_await admit(call, review);
    if (!admitted) co_return fail(admitted.error());
  }
  if (call.resource->name == "pods") co_return pod_answer(call, *object);
  if (call.resource->name == "nodes") co_return fail(unreachable(*object));
  if (!has_port(*object, target->port))
    co_return fail(Error::of(
        Reason::kServiceUnavailable,
        cat("no service port ", target->port, " found for service ", quoted(target->name))));
  co_return fail(Error::of(Reason::kServiceUnavailable,
                           cat("no endpoints available for service ", quoted(target->name))));
}

}  // namespace cardea::rest
