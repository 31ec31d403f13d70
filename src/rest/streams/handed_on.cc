#include "rest/streams/handed_on.h"

#include <algorithm>
#include <vector>

#include "base/strings.h"
#include "rest/streams/location.h"

namespace cardea::rest {
namespace {

constexpr std::string_view kOfConnection[] = {
    "connection", "proxy-connection", "keep-alive", "proxy-authenticate", "proxy-authorization",
    "te",         "trailer",          "upgrade",    "transfer-encoding",  "content-length",
    "expect",     "http2-settings"};
constexpr std::string_view kCredentials[] = {"authorization", "x-remote-", "impersonate-"};
constexpr std::string_view kCors[] = {
    "access-control-allow-credentials", "access-control-allow-headers",
    "access-control-allow-methods", "access-control-allow-origin"};
constexpr std::string_view kTokenProtocol = "base64url.bearer.authorization.k8s.io.";

bool is_any(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::any_of(names, [&](auto n) { return equals_ignoring_case(n, name); });
}

bool is_credential(std::string_view name) {
  const std::string low = lower(name);
  return std::ranges::any_of(kCredentials, [&](auto prefix) { return low.starts_with(prefix); });
}

std::vector<std::string> named_by_connection(const http::Headers& headers) {
  std::vector<std::string> out;
  for (std::string_view value : headers.get_all("connection"))
    for (std::string_view name : split(value, ',')) out.emplace_back(lower(trim(name)));
  return out;
}

std::string without_tokens(std::string_view protocols) {
  std::vector<std::string> kept;
  for (std::string_view one : split(protocols, ','))
    if (one = trim(one); !one.empty() && !one.starts_with(kTokenProtocol)) kept.emplace_back(one);
  return join(kept, ", ");
}

}  // namespace

http::Headers headers_for_backend(const http::Request& request, bool is_upgrade) {
  http::Headers out;
  const auto named = named_by_connection(request.headers);
  for (const auto& [name, value] : request.headers) {
    if (is_any(name, kOfConnection) || is_credential(name) ||
        equals_ignoring_case(name, "x-forwarded-for") ||
        std::ranges::find(named, lower(name)) != named.end())
      continue;
    if (equals_ignoring_case(name, "sec-websocket-protocol")) {
      if (auto kept = without_tokens(value); !kept.empty()) out.add(name, kept);
      continue;
    }
    out.add(name, value);
  }
  std::vector<std::string> through;
  for (std::string_view value : request.headers.get_all("x-forwarded-for"))
    through.emplace_back(value);
  if (request.peer) through.push_back(request.peer->address);
  if (!through.empty()) out.add("X-Forwarded-For", join(through, ", "));
  out.add("Connection", is_upgrade ? "Upgrade" : "close");
  if (is_upgrade) out.add("Upgrade", request.headers.get("upgrade"));
  return out;
}

http::Headers headers_for_client(const http::Headers& headers, bool is_upgrade) {
  http::Headers out;
  const auto named = named_by_connection(headers);
  for (const auto& [name, value] : headers) {
    const bool is_length = equals_ignoring_case(name, "content-length");
    if ((is_any(name, kOfConnection) && !is_length) || (is_upgrade && is_length)) continue;
    if (std::ranges::find(named, lower(name)) != named.end() || is_any(name, kCors)) continue;
    if (equals_ignoring_case(name, "date") || equals_ignoring_case(name, "audit-id")) continue;
    out.add(name, value);
  }
  if (is_upgrade) out.add("Upgrade", headers.get("upgrade"));
  return out;
}

std::string location_for_client(std::string_view location, const ProxiedAt& at) {
  const std::size_t scheme_end = location.find("://");
  const bool is_absolute = scheme_end != location.npos &&
                           location.substr(0, scheme_end).find_first_of("/?#") == location.npos;
  std::string_view host, rest = location;
  if (is_absolute || location.starts_with("//")) {
    rest = location.substr(is_absolute ? scheme_end + 3 : 2);
    host = rest.substr(0, std::min(rest.find_first_of("/?#"), rest.size()));
    rest.remove_prefix(host.size());
  }
  const bool is_ours = host.empty() || host == at.backend || host == at.host;
  if (!is_ours || !rest.starts_with('/')) return std::string(location);
  const bool has_prefix = rest.starts_with(at.prefix) &&
                          (rest.size() == at.prefix.size() || rest[at.prefix.size()] == '/');
  return cat(has_prefix ? "" : at.prefix, rest);
}

}  // namespace cardea::rest
