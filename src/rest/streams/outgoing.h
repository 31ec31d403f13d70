#pragma once
#include <memory>
#include <string>

#include "base/task.h"
#include "http/relay.h"
#include "json/value.h"
#include "rest/call.h"
#include "rest/streams/location.h"

namespace cardea::rest {

// A request of a client on its way to a kubelet, pod or service.
struct Outgoing {
  Place place;
  std::string target;  // "/exec/default/web/shell?command=ls"
  std::string method = "GET";
  http::Headers headers = {};
  std::string body = {};
  bool is_upgrade = false;
};

// Begins it and waits for the head of the answer, on the loop of the call's connection. An address
// that the server does not connect to is a bad request.
struct Reached {
  std::shared_ptr<http::Relay> relay;
  Result<http::Relay::Head> head;
};
Task<Reached> reach(Call& call, Outgoing outgoing);

// Sends the head of the answer to the client, and lets the rest follow by itself. The audit trail
// of the call goes with it, and records its end: how long it took and how many bytes went each way.
// While it goes on, it is asked again whether the client may have it; `options` are those that it
// was allowed with.
Answer pass_on(Call& call, http::Relay& relay, http::Response head, json::Value options);
// The same after a 101: a tunnel. An error when the client's connection cannot become one.
Result<Answer> tunnel(Call& call, http::Relay& relay, const http::Relay::Head& head,
                      json::Value options);
// An answer that is no upgrade to a request for one, as kube-apiserver treats it: an error goes to
// the client as it is.
Result<Answer> without_upgrade(Call& call, http::Relay& relay, const http::Relay::Head& head,
                               json::Value options);

// Whether the request asks for another protocol.
bool asks_for_upgrade(const http::Request& request);

// Reads an object of the call's namespace by its name.
Result<json::Value> read_named(const Call& call, const catalog::Resource& resource,
                               std::string_view namespace_name, std::string_view name);

// What remains of a connection when it has been admitted.
Task<Result<Answer>> stream_of_pod(Call& call, json::Value options);  // exec, attach, portforward
Task<Result<Answer>> log_of_pod(Call& call, json::Value options);
Task<Result<Answer>> proxy(Call& call, json::Value options);

}  // namespace cardea::rest
