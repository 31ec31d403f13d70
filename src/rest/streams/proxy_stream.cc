// pods/proxy, services/proxy and nodes/proxy.
#include "base/strings.h"
#include "rest/present/self_description.h"
#include "rest/present/status.h"
#include "rest/streams/backends.h"
#include "rest/streams/handed_on.h"
#include "rest/streams/outgoing.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {

using json::Value;

namespace {

Result<Place> service_target(const Call& call, const ProxyName& name) {
  const std::string& space = call.info.namespace_name;
  // The service is looked for when the number of a port is to be found in it.
  Value service;
  if (parse_int(name.port)) {
    auto found = read_named(call, *call.resource, space, name.name);
    if (!found) return fail(found.error());
    service = std::move(*found);
  }
  auto port = service_port(service, name);
  if (!port) return fail(port.error());
  auto endpoints = read_named(call, *call.catalog->find("", "v1", "endpoints"), space, name.name);
  if (!endpoints) return fail(not_found(*call.resource, name.name));
  const catalog::Resource& pods = *call.catalog->find("", "v1", "pods");
  return service_place(
      *endpoints, name, *port, space,
      [&](std::string_view pod) {
        auto found = read_named(call, pods, space, pod);
        return found ? std::move(*found) : Value();
      },
      [&](std::size_t below) {
        return static_cast<std::size_t>(call.services.random.next() % below);
      });
}

Result<Place> target_of(const Call& call) {
  auto name = proxy_name(call.info.name, call.resource->singular);
  if (!name) return fail(name.error());
  if (call.resource->name == "services") return service_target(call, *name);
  auto object = read_named(call, *call.resource, call.info.namespace_name, name->name);
  if (!object) return fail(object.error());
  if (call.resource->name == "pods") return pod_place(*object, *name);
  static const std::vector<std::string> kNone;
  const Backends* backends = call.services.backends;
  return node_place(*object, *name, backends ? backends->preferred_address_types : kNone);
}

// What the request's own path has before the path of the target.
std::string prefix_of(const http::Request& request, const authz::RequestInfo& info) {
  std::string_view path = request.path;
  std::size_t at = 0;
  for (std::size_t parts = 0, wanted = info.namespace_name.empty() ? 5 : 7; parts < wanted; ++parts)
    at = std::min(path.find('/', at + 1), path.size());
  return std::string(path.substr(0, at));
}

// Without a path there is nothing that relative links could be relative to.
Answer redirect_to_root(const http::Request& request) {
  Answer answer = text_answer(301, "");
  answer.headers.emplace_back(
      "Location", cat(request.path, "/", request.query.empty() ? "" : "?", request.query));
  return answer;
}

std::string authority_of(const Place& place) {
  return place.url().substr(place.scheme.size() + 3);
}

Error unreachable(const Error& error) {
  if (error.reason == Reason::kBadRequest) return error;  // its address is not allowed
  return Error::of(Reason::kServiceUnavailable,
                   cat("error trying to reach service: ", error.message));
}

}  // namespace

Task<Result<Answer>> proxy(Call& call, Value options) {
  auto place = target_of(call);
  if (!place) co_return fail(place.error());
  const http::Request& request = call.request();
  if (request.body_too_large)
    co_return fail(
        Error::of(Reason::kRequestEntityTooLarge, "Request entity too large: limit is 3145728"));
  const std::string path(options["path"].as_string());
  const bool is_upgrade = asks_for_upgrade(request);
  if (path.empty() && !is_upgrade && (request.method == "GET" || request.method == "HEAD"))
    co_return redirect_to_root(request);
  const ProxiedAt at{.host = std::string(request.headers.get("host")),
                     .prefix = prefix_of(request, call.info),
                     .backend = authority_of(*place)};
  Outgoing out{.place = *place,
               .target = cat(path.empty() ? "/" : escape_path(path),
                             request.query.empty() ? "" : "?", request.query),
               .method = request.method,
               .headers = headers_for_backend(request, is_upgrade),
               .body = request.body,
               .is_upgrade = is_upgrade};
  if (!is_upgrade) {
    out.headers.set("X-Forwarded-Uri", cat(at.prefix, escape_path(path)));
    out.headers.remove("X-Forwarded-Host");
    out.headers.remove("X-Forwarded-Proto");
  }
  Reached reached = co_await reach(call, std::move(out));
  if (!reached.head) co_return fail(unreachable(reached.head.error()));
  const http::Relay::Head& head = *reached.head;
  if (head.status == 101) co_return tunnel(call, *reached.relay, head, std::move(options));
  if (is_upgrade) co_return without_upgrade(call, *reached.relay, head, options);
  http::Response answer{
      .status = head.status, .headers = headers_for_client(head.headers, false), .body = {}};
  if (!answer.headers.has("cache-control"))
    answer.headers.add("Cache-Control", "no-cache, private");
  if (answer.headers.has("location"))
    answer.headers.set("Location", location_for_client(answer.headers.get("location"), at));
  co_return pass_on(call, *reached.relay, std::move(answer), std::move(options));
}

}  // namespace cardea::rest
