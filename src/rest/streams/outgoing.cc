#include "rest/streams/outgoing.h"

#include "base/strings.h"
#include "http/websocket.h"
#include "rest/audit_trail.h"
#include "rest/present/status.h"
#include "rest/streams/backends.h"
#include "rest/streams/handed_on.h"
#include "rest/streams/open_streams.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {
namespace {

const std::shared_ptr<const net::TlsClient>& tls_for(const Backends& b, Place::Trust trust) {
  switch (trust) {
    case Place::Trust::kKubelet:
      return b.kubelets;
    case Place::Trust::kUncheckedKubelet:
      return b.unchecked_kubelets;
    case Place::Trust::kOther:
      break;
  }
  return b.others;
}

// Records the end of a stream, and with it the event of its request. Until then the stream is asked
// about.
auto recorder(Call& call, http::Relay& relay, json::Value options) {
  auto cut = [weak = relay.weak_from_this()](const Error& why) {
    if (auto r = weak.lock()) r->cut(revoked(why));
  };
  return [asked = keep_asking(call, std::move(options), std::move(cut)),
          trail = call.trail](const http::Relay::Report& report) {
    if (!trail) return;
    trail->annotate("streams.cardea.dev/milliseconds", std::to_string(report.took.count()));
    trail->annotate("streams.cardea.dev/bytes-to-backend", std::to_string(report.to_server));
    trail->annotate("streams.cardea.dev/bytes-to-client", std::to_string(report.to_client));
    trail->annotate("streams.cardea.dev/end", report.why);
  };
}

Answer streaming(int status) {
  Answer answer;
  answer.status = status;
  answer.is_streaming = true;
  return answer;
}

}  // namespace

// What else could be upgraded to might carry requests of its own (h2c does), which nobody judged.
bool asks_for_upgrade(const http::Request& request) {
  const std::string_view wanted = request.headers.get("upgrade");
  const bool is_known = equals_ignoring_case(wanted, "websocket") ||
                        equals_ignoring_case(wanted, "spdy/3.1");
  return request.has_upgrade && is_known && http::asks_for_upgrade(request.headers, wanted);
}

Task<Reached> reach(Call& call, Outgoing outgoing) {
  const Backends* backends = call.services.backends;
  if (!backends)
    co_return Reached{nullptr, fail(Error::of(Reason::kServiceUnavailable,
                                              "this server connects to no kubelets"))};
  const bool is_kubelet = outgoing.place.trust != Place::Trust::kOther;
  http::Call out{
      .method = std::move(outgoing.method),
      .url = cat(outgoing.place.url(), outgoing.target),
      .headers = std::move(outgoing.headers),
      .body = std::move(outgoing.body),
      .timeout = outgoing.is_upgrade ? backends->upgrade_timeout : std::chrono::milliseconds(0)};
  http::LoneCallOptions how{
      .connect_timeout = is_kubelet ? backends->kubelet_timeout : backends->connect_timeout,
      .admits = [rules = backends->addresses](const std::string& a) { return rules.admits(a); }};
  auto relay = http::Relay::make(call.exchange);
  Result<http::Relay::Head> head = co_await await_callback<Result<http::Relay::Head>>(
      [&](auto done) {
        relay->call(backends->dialer, tls_for(*backends, outgoing.place.trust), std::move(out),
                    std::move(how),
                    [done](Result<http::Relay::Head> got) mutable { done(std::move(got)); });
      });
  co_return Reached{std::move(relay), std::move(head)};
}

Answer pass_on(Call& call, http::Relay& relay, http::Response head, json::Value options) {
  begin_stream(call, head);
  const int status = head.status;
  relay.pass_on(std::move(head), recorder(call, relay, std::move(options)));
  return streaming(status);
}

Result<Answer> tunnel(Call& call, http::Relay& relay, const http::Relay::Head& head,
                      json::Value options) {
  http::Response answer{
      .status = 101, .headers = headers_for_client(head.headers, true), .body = {}};
  begin_stream(call, answer);
  if (!relay.upgrade(std::move(answer), recorder(call, relay, std::move(options))))
    return fail(bad_request("this connection cannot be upgraded"));
  return streaming(101);
}

Result<Answer> without_upgrade(Call& call, http::Relay& relay, const http::Relay::Head& head,
                               json::Value options) {
  if (head.status < 400) {
    relay.drop();
    return fail(Error{Reason::kUnknown, cat("invalid upgrade response: status code ", head.status),
                      nullptr, 500});
  }
  http::Response answer{
      .status = head.status, .headers = headers_for_client(head.headers, false), .body = {}};
  answer.headers.add("Connection", "close");
  return pass_on(call, relay, std::move(answer), std::move(options));
}

Result<json::Value> read_named(const Call& call, const catalog::Resource& r,
                               std::string_view namespace_name, std::string_view name) {
  store::RecordPtr record = call.services.store.get(object_key(r, namespace_name, name));
  if (!record) return fail(not_found(r, name));
  return parse_stored(*record);  // these kinds have one version
}

}  // namespace cardea::rest
