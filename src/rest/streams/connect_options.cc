#include "rest/streams/connect_options.h"

#include <algorithm>
#include <charconv>

#include "base/strings.h"
#include "base/time_parse.h"
#include "http/websocket.h"
#include "json/field_error.h"
#include "rest/streams/location.h"

namespace cardea::rest {

using json::Value;

namespace {

Value of_kind(std::string kind) {
  return Value::object({{"kind", std::move(kind)}, {"apiVersion", "v1"}});
}

// Part of the path that belongs to the target, as it will be sent.
std::string proxied_path(const authz::RequestInfo& info) {
  std::string path;
  for (std::size_t i = 3; i < info.parts.size(); ++i) path += cat("/", info.parts[i]);
  if (info.path.ends_with('/') && !path.ends_with('/')) path += '/';
  return clean_path(path);
}

Result<std::int64_t> number(std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    return fail(bad_request(cat("strconv.ParseInt: parsing ", quoted(text), ": ", why)));
  };
  std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  std::int64_t value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range) return wrong("value out of range");
  if (error != std::errc{} || end != digits.data() + digits.size()) return wrong("invalid syntax");
  return value;
}

// The protocols of a WebSocket in which the URL alone says which ports are meant.
constexpr std::string_view kPortsInUrl[] = {"", "channel.k8s.io", "base64.channel.k8s.io",
                                            "v4.channel.k8s.io", "v4.base64.channel.k8s.io"};

// SPDY, by itself or inside a WebSocket, names a port in each of its streams, and kubelets then
// ignore the URL: whoever checks the ports of the URL would have checked nothing.
bool ports_count(const http::Request& request) {
  if (!http::asks_for_websocket(request.headers)) return false;
  for (std::string_view value : request.headers.get_all("sec-websocket-protocol"))
    for (std::string_view one : split(value, ','))
      if (std::ranges::find(kPortsInUrl, trim(one)) == std::end(kPortsInUrl)) return false;
  return true;
}

Result<Value> port_forward_options(const authz::Query& query, const http::Request& request) {
  Value out = of_kind("PodPortForwardOptions");
  for (std::string_view list : query.all("ports")) {
    for (std::string_view port : split(list, ',')) {
      const auto value = parse_int(port);
      if (!value || *value != static_cast<std::int32_t>(*value))
        return fail(bad_request(cat("cannot convert to []int32: strconv.ParseUint: parsing ",
                                    quoted(port), ": invalid syntax")));
      out.member("ports").push_back(*value);
    }
  }
  if (out.has("ports") && request.has_upgrade && !ports_count(request))
    return fail(bad_request(
        "ports in the URL are for WebSockets with the protocol v4.channel.k8s.io: this protocol "
        "names its ports in the stream"));
  return out;
}

void add_flag(const authz::Query& query, const char* key, Value& out) {
  if (auto given = query.first(key); given && authz::is_true_parameter(*given)) out.set(key, true);
}

}  // namespace

Result<Value> connect_options(const Call& call) {
  const authz::Query& query = call.info.query;
  const std::string& sub = call.info.subresource;
  if (sub == "portforward") return port_forward_options(query, call.exchange->request());
  Value out = of_kind(std::string(call.subresource->kind));
  if (sub == "proxy") {
    if (std::string path = proxied_path(call.info); !path.empty()) out.set("path", path);
    return out;
  }
  for (const char* key : {"stdin", "stdout", "stderr", "tty"}) add_flag(query, key, out);
  if (auto container = query.first("container"); container && !container->empty())
    out.set("container", *container);
  if (sub == "exec")
    for (std::string_view word : query.all("command")) out.member("command").push_back(word);
  return out;
}

Result<Value> log_options(const Call& call) {
  const authz::Query& query = call.info.query;
  json::FieldErrors errors;
  Value out = of_kind("PodLogOptions");
  for (const char* key : {"follow", "previous", "timestamps", "insecureSkipTLSVerifyBackend"})
    add_flag(query, key, out);
  if (auto container = query.first("container"); container && !container->empty())
    out.set("container", *container);
  for (std::string_view key : {"tailLines", "limitBytes", "sinceSeconds"}) {
    auto text = query.first(key);
    if (!text) continue;
    auto value = number(*text);
    if (!value) return fail(value.error());
    const std::int64_t least = key == "tailLines" ? 0 : 1;
    if (key == "sinceSeconds" && query.first("sinceTime"))
      errors.push_back(
          json::forbidden("[]", "at most one of `sinceTime` or `sinceSeconds` may be specified"));
    else if (*value < least)
      errors.push_back(json::invalid(
          std::string(key), *value,
          least == 0 ? "must be greater than or equal to 0" : "must be greater than 0"));
    out.set(key, *value);
  }
  if (auto text = query.first("sinceTime")) {
    if (auto time = parse_rfc3339(*text); !time) return fail(bad_request(time.error().message));
    out.set("sinceTime", *text);
  }
  if (query.first("stream")) errors.push_back(json::forbidden("stream", "may not be specified"));
  if (!errors.empty())
    return fail(json::invalid_object("", "PodLogOptions", call.info.name, errors));
  return out;
}

}  // namespace cardea::rest
