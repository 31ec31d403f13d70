// exec, attach, portforward and log: what the kubelet of a pod's node serves.
#include "base/strings.h"
#include "rest/present/self_description.h"
#include "rest/present/status.h"
#include "rest/streams/backends.h"
#include "rest/streams/handed_on.h"
#include "rest/streams/outgoing.h"

namespace cardea::rest {

using json::Value;
using Parameters = std::vector<std::pair<std::string, std::string>>;

namespace {

constexpr std::size_t kMostOfAnError = 10'000;

struct Pod {
  Value object;
  std::string node;  // empty: it has none yet
};

Result<Pod> pod_of(const Call& call) {
  auto object = read_named(call, *call.resource, call.info.namespace_name, call.info.name);
  if (!object) return fail(object.error());
  std::string node((*object)["spec"]["nodeName"].as_string());
  return Pod{std::move(*object), std::move(node)};
}

Result<Place> kubelet_place(const Call& call, const std::string& node_name) {
  auto node = read_named(call, *call.catalog->find("", "v1", "nodes"), "", node_name);
  if (!node)  // in kube-apiserver's words, which are about the pod
    return fail(Error::of(Reason::kNotFound, cat("pods ", quoted(node_name), " not found"))
                    .with({.name = node_name, .kind = "pods"}));
  static const std::vector<std::string> kNone;
  const Backends* backends = call.services.backends;
  return kubelet_of(*node, backends ? backends->preferred_address_types : kNone);
}

Parameters stream_parameters(const Value& options) {
  Parameters out;
  for (const Value& word : options["command"].items())
    out.emplace_back("command", word.as_string());
  constexpr std::pair<const char*, const char*> kFlags[] = {
      {"stderr", "error"}, {"stdin", "input"}, {"stdout", "output"}, {"tty", "tty"}};
  for (const auto& [ours, theirs] : kFlags)
    if (options[ours].as_bool()) out.emplace_back(theirs, "1");
  std::vector<std::string> ports;
  for (const Value& port : options["ports"].items()) ports.push_back(std::to_string(port.as_int()));
  if (!ports.empty()) out.emplace_back("port", join(ports, ","));
  return out;
}

Parameters log_parameters(const Value& options) {
  Parameters out;
  for (const char* key : {"follow", "limitBytes", "previous", "sinceSeconds", "sinceTime",
                          "tailLines", "timestamps"}) {
    const Value* v = options.find(key);
    if (!v) continue;
    out.emplace_back(key, v->is_string() ? std::string(v->as_string())
                          : v->is_bool() ? "true"
                                         : std::to_string(v->as_int()));
  }
  return out;
}

std::string target_of(std::string_view path, const Parameters& parameters) {
  std::string query = query_of(parameters);
  return query.empty() ? std::string(path) : cat(path, "?", query);
}

// The kubelet's "no" in the words in which kube-apiserver hands it on.
Error refused_by_kubelet(const Call& call, int status, std::string text) {
  const ErrorDetails about{.name = call.info.name, .kind = "pods/log"};
  if (status == 500) return internal_error(cat("Internal error occurred: ", text));
  if (status == 400) return bad_request(std::move(text));
  if (status == 404)
    return Error::of(Reason::kNotFound,
                     cat("the server could not find the requested resource ( pods/log ",
                         call.info.name, ")"))
        .with(ErrorDetails(about));
  Error error{Reason::kUnknown, std::move(text), nullptr, status >= 400 ? status : 500};
  return std::move(error).with(ErrorDetails(about));
}

}  // namespace

Task<Result<Answer>> stream_of_pod(Call& call, Value options) {
  auto pod = pod_of(call);
  if (!pod) co_return fail(pod.error());
  const std::string& kind = call.info.subresource;
  std::string path = cat("/", kind == "portforward" ? "portForward" : kind, "/",
                         call.info.namespace_name, "/", call.info.name);
  if (kind != "portforward") {
    auto container = container_of(pod->object, options["container"].as_string());
    if (!container) co_return fail(container.error());
    path += cat("/", *container);
  }
  if (pod->node.empty())
    co_return fail(bad_request(cat("pod ", call.info.name, " does not have a host assigned")));
  auto place = kubelet_place(call, pod->node);
  if (!place) co_return fail(place.error());
  if (!asks_for_upgrade(call.request())) co_return fail(bad_request("Upgrade request required"));
  Reached reached = co_await reach(call, {.place = *place,
                                          .target = target_of(path, stream_parameters(options)),
                                          .method = call.request().method,
                                          .headers = headers_for_backend(call.request(), true),
                                          .body = {},
                                          .is_upgrade = true});
  if (!reached.head)
    co_return fail(Error{Reason::kUnknown,
                         cat("error dialing backend: ", reached.head.error().message), nullptr,
                         500});
  if (reached.head->status != 101)
    co_return without_upgrade(call, *reached.relay, *reached.head, options);
  co_return tunnel(call, *reached.relay, *reached.head, std::move(options));
}

Task<Result<Answer>> log_of_pod(Call& call, Value options) {
  auto pod = pod_of(call);
  if (!pod) co_return fail(pod.error());
  auto container = container_of(pod->object, options["container"].as_string());
  if (!container) co_return fail(container.error());
  if (pod->node.empty()) co_return text_answer(204, "");
  auto place = kubelet_place(call, pod->node);
  if (!place) co_return fail(place.error());
  if (options["insecureSkipTLSVerifyBackend"].as_bool())
    place->trust = Place::Trust::kUncheckedKubelet;
  const std::string target = target_of(
      cat("/containerLogs/", call.info.namespace_name, "/", call.info.name, "/", *container),
      log_parameters(options));
  Reached reached = co_await reach(call, {.place = *place,
                                          .target = target,
                                          .method = "GET",
                                          .headers = {{"User-Agent", "cardea"}},
                                          .body = {}});
  if (!reached.head)
    co_return fail(
        Error{Reason::kUnknown,
              cat("Get ", quoted(cat(place->url(), target)), ": ", reached.head.error().message),
              nullptr, 500});
  const int status = reached.head->status;
  if (status >= 200 && status <= 206)
    co_return pass_on(
        call, *reached.relay,
        {.status = 200,
         .headers = {{"Cache-Control", "no-cache, private"}, {"Content-Type", "text/plain"}},
         .body = {}},
        {});
  if (status >= 300 && status < 400) {
    reached.relay->drop();
    co_return fail(
        Error{Reason::kUnknown,
              cat("Get ", quoted(reached.head->headers.get("location")), ": redirects forbidden"),
              nullptr, 500});
  }
  std::string text = co_await await_callback<std::string>([&](auto done) {
    reached.relay->collect(kMostOfAnError,
                           [done](std::string got) mutable { done(std::move(got)); });
  });
  co_return fail(refused_by_kubelet(call, status, std::move(text)));
}

}  // namespace cardea::rest
