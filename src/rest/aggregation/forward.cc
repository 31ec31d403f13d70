#include "rest/aggregation/forward.h"

#include <algorithm>

#include "authz/attributes.h"
#include "authz/refusal.h"
#include "base/strings.h"
#include "http/relay.h"
#include "http/url.h"
#include "rest/audit_trail.h"
#include "rest/pipeline/asked.h"
#include "rest/pipeline/hops.h"
#include "rest/pipeline/witness.h"
#include "rest/present/health.h"
#include "rest/streams/handed_on.h"
#include "rest/streams/location.h"
#include "rest/streams/outgoing.h"

namespace cardea::rest {
namespace {

constexpr std::chrono::milliseconds kDiscoveryTimeout{5'000};
constexpr std::chrono::milliseconds kUpgradeTimeout{30'000};

Answer unavailable() {
  return text_answer(503, "service unavailable\n");
}

// Does a header carry it exactly? Blanks at the ends would be cut off, and control characters
// replaced.
bool is_carried(std::string_view text) {
  return http::is_field_value(text) && trim(text) == text;
}

Error refused(const Call& call, std::string why) {
  return authz::forbidden(authz::Attributes{call.user, call.info}, std::move(why));
}

// Permissions that depend on the object are none here, unless the other server settles them.
Result<void> is_allowed_as_it_is(const Call& call, const Remote& remote) {
  const bool is_open = call.open.is_conditional() || call.open.has_conditions();
  // The other server does not know who acts for the user.
  const bool is_settled_here_alone = call.open.is_granular() || call.open.acts_under_conditions();
  if (is_settled_here_alone || (is_open && !remote.service.asks_back))
    return fail(refused(call, "another server serves it, and conditions cannot be settled there"));
  return {};
}

struct Way {
  const Aggregator& aggregator;
  const Remote& remote;
  const Target& target;
};

http::Call call_of(Call& call, const Way& way, std::string path, http::Headers headers) {
  http::Request& request = call.request();
  http::Call out{
      .method = request.method,
      .url = cat("https://", way.remote.service.server_name(), ":", way.target.port, path),
      .headers = std::move(headers),
      .body = std::move(request.body),
      .timeout = std::chrono::milliseconds(0),
      .connect_host = way.target.host,
      .connect_port = way.target.port};
  return out;
}

Task<Reached> upgrade_to_server(Call& call, const Way& way, http::Call out) {
  auto relay = http::Relay::make(call.exchange);
  out.timeout = kUpgradeTimeout;
  http::LoneCallOptions how{.connect_timeout = way.aggregator.settings().connect_timeout,
                            .admits = [rules = way.aggregator.settings().addresses](
                                          const std::string& a) { return rules.admits(a); }};
  Result<http::Relay::Head> head = co_await await_callback<Result<http::Relay::Head>>(
      [&](auto done) {
        relay->call(way.aggregator.dialer(), way.remote.wires->for_upgrades(), std::move(out),
                    std::move(how),
                    [done](Result<http::Relay::Head> got) mutable { done(std::move(got)); });
      });
  co_return Reached{std::move(relay), std::move(head)};
}

Task<Reached> reach_server(Call& call, const Way& way, http::Call out, bool is_upgrade) {
  if (is_upgrade) {
    Reached upgraded = co_await upgrade_to_server(call, way, std::move(out));
    co_return upgraded;
  }
  auto relay = http::Relay::make(call.exchange, {.longest = out.timeout});
  http::Client& client = way.remote.wires->client(call.exchange->loop());
  Result<http::Relay::Head> head = co_await await_callback<Result<http::Relay::Head>>(
      [&](auto done) {
        relay->call(client, std::move(out),
                    [done](Result<http::Relay::Head> got) mutable { done(std::move(got)); });
      });
  co_return Reached{std::move(relay), std::move(head)};
}

Answer unreachable(const Error& error) {
  if (error.reason == Reason::kTimeout) return pipeline::too_late();
  return text_answer(503, cat("error trying to reach service: ", error.message, "\n"));
}

bool is_redirect(const http::Relay::Head& head) {
  return head.status >= 300 && head.status < 400 && head.headers.has("location");
}

// An answer with an end that is not far: nobody asks about it again, and its audit event tells no
// more than that of another answer.
Answer pass_on_short(Call& call, http::Relay& relay, http::Response head) {
  begin_stream(call, head);
  Answer out;
  out.status = head.status;
  out.is_streaming = true;
  relay.pass_on(std::move(head), [trail = call.trail](const http::Relay::Report&) {});
  return out;
}

// The other server's event of the request has the same id.
void name_in_audit(Call& call, http::Headers& headers) {
  const std::string id = call.trail ? call.trail->audit_id()
                                    : audit_id_of(call.request(), call.services.random);
  call.request().headers.set("Audit-ID", id);
  headers.set("Audit-ID", id);
}

// Servers that hand a request on in a circle would do so until they have no connections left.
Result<void> pass_hops_on(const Call& call, const http::Request& request, http::Headers& headers) {
  std::vector<std::string> hops;
  for (std::string_view value : request.headers.get_all(authz::kViaHeader))
    hops.emplace_back(value);
  if (auto ok = pipeline::check_hops(join(hops, ","), call.services.server_id); !ok) return ok;
  hops.push_back(call.services.server_id);
  headers.set(authz::kViaHeader, join(hops, ", "));
  return {};
}

std::chrono::milliseconds limit_of(const authz::RequestInfo& info,
                                   std::chrono::milliseconds longest) {
  if (pipeline::is_long_running(info)) return std::chrono::milliseconds(0);
  if (info.is_resource_request) return longest;
  return longest.count() > 0 ? std::min(longest, kDiscoveryTimeout) : kDiscoveryTimeout;
}

}  // namespace

Result<http::Headers> headers_for_server(const http::Request& request, const authz::User& user,
                                         bool is_upgrade) {
  http::Headers out = headers_for_backend(request, is_upgrade);
  if (!is_upgrade) out.remove("connection");  // it stays open
  out.remove("host");
  const Error cannot = internal_error(
      "the name, the groups or the attributes of the user cannot be sent to another server");
  bool is_exact = !user.name.empty();
  auto add = [&](const std::string& name, const std::string& value) {
    is_exact = is_exact && is_carried(value);
    out.add(name, value);
  };
  add("X-Remote-User", user.name);
  if (!user.uid.empty()) add("X-Remote-Uid", user.uid);
  for (const std::string& group : user.groups) add("X-Remote-Group", group);
  for (const auto& [key, values] : user.extra)
    for (const std::string& value : values)
      add(cat("X-Remote-Extra-", http::escape_header_key(key)), value);
  if (!is_exact) return fail(cannot);
  return out;
}

Result<std::string> target_for_server(const authz::RequestInfo& info) {
  const auto parts = split(std::string_view(info.path).substr(1), '/');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool is_last = i + 1 == parts.size();
    if ((parts[i].empty() && !is_last) || parts[i] == "." || parts[i] == "..")
      return fail(bad_request("the path has empty or dot segments"));
  }
  std::string out = escape_path(info.path);
  if (!info.query.pairs().empty()) out += cat("?", query_of(info.query.pairs()));
  return out;
}

Task<Result<Answer>> forward(Call& call, const Aggregator& aggregator,
                             std::shared_ptr<const Remote> remote,
                             std::chrono::milliseconds longest) {
  if (auto allowed = is_allowed_as_it_is(call, *remote); !allowed) co_return fail(allowed.error());
  if (!remote->is_available) co_return unavailable();
  if (!remote->wires) co_return text_answer(500, cat(remote->broken, "\n"));
  if (remote->targets.empty()) co_return unavailable();
  http::Request& request = call.request();
  if (request.body_too_large)
    co_return fail(
        Error::of(Reason::kRequestEntityTooLarge, "Request entity too large: limit is 3145728"));
  const bool is_upgrade = asks_for_upgrade(request);
  auto path = target_for_server(call.info);
  if (!path) co_return fail(path.error());
  auto headers = headers_for_server(request, call.user, is_upgrade);
  if (!headers) co_return fail(headers.error());
  if (auto ok = pass_hops_on(call, request, *headers); !ok) co_return fail(ok.error());
  name_in_audit(call, *headers);
  if (call.trace) headers->set(kTraceparentHeader, call.trace->traceparent());
  const std::size_t count = remote->targets.size();
  const Target& target = remote->targets[count == 1 ? 0 : call.services.random.next() % count];
  const Way way{aggregator, *remote, target};
  http::Call out = call_of(call, way, std::move(*path), std::move(*headers));
  const std::chrono::milliseconds limit = limit_of(call.info, longest);
  out.timeout = limit;
  Reached reached = co_await reach_server(call, way, std::move(out), is_upgrade);
  if (!reached.head) co_return unreachable(reached.head.error());
  const http::Relay::Head& head = *reached.head;
  if (head.status == 101) co_return tunnel(call, *reached.relay, head, {});
  if (is_upgrade) co_return without_upgrade(call, *reached.relay, head, {});
  if (is_redirect(head) && aggregator.settings().refuses_redirects) {
    reached.relay->drop();
    co_return text_answer(502,
                          "the backend attempted to redirect this request, which is not permitted");
  }
  http::Response answer{
      .status = head.status, .headers = headers_for_client(head.headers, false), .body = {}};
  if (!answer.headers.has("cache-control"))
    answer.headers.add("Cache-Control", "no-cache, private");
  if (pipeline::is_long_running(call.info))
    co_return pass_on(call, *reached.relay, std::move(answer), {});
  co_return pass_on_short(call, *reached.relay, std::move(answer));
}

}  // namespace cardea::rest
