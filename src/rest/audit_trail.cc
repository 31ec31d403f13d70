#include "rest/audit_trail.h"

#include <arpa/inet.h>

#include <algorithm>

#include "base/strings.h"
#include "rest/call.h"

namespace cardea::rest {
namespace {

using audit::AnswerBody;
using audit::Level;
using audit::Stage;

constexpr std::size_t kLongestId = 128;
constexpr std::size_t kLongestAgent = 1024;

// What a client may choose as the id: it comes back in a header and stands in files that people
// search.
bool is_plain_id(std::string_view id) {
  return !id.empty() && id.size() <= kLongestId && std::ranges::all_of(id, [](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.' || c == ':';
  });
}

// The address as it is usually written; "" when it is none.
std::string canonical_address(std::string_view text) {
  std::string given(trim(text));
  unsigned char bytes[16];
  char out[INET6_ADDRSTRLEN];
  for (int family : {AF_INET, AF_INET6})
    if (::inet_pton(family, given.c_str(), bytes) == 1 &&
        ::inet_ntop(family, bytes, out, sizeof out))
      return out;
  return "";
}

bool is_long_running(const authz::RequestInfo& info) {
  constexpr std::string_view kLong[] = {"attach", "exec", "proxy", "log", "portforward"};
  if (!info.is_resource_request) return false;
  return info.verb == "watch" || info.verb == "proxy" ||
         std::ranges::find(kLong, std::string_view(info.subresource)) != std::end(kLong);
}

void conditions_to(std::string& out, const authz::Decision& decision, std::string_view author) {
  if (!decision.conditions) return;
  if (const auto* chain = decision.conditions->chain())
    for (const authz::NamedDecision& d : *chain) conditions_to(out, d.decision, d.authorizer);
  if (const auto* set = decision.conditions->set())
    for (const authz::Condition& c : set->conditions)
      out += cat(out.empty() ? "" : ", ", author, author.empty() ? "" : ": ",
                 authz::effect_name(c.effect), " ", c.id);
}

}  // namespace

std::vector<std::string> source_addresses(const http::Request& request) {
  std::vector<std::string> out;
  for (std::string_view part : split(request.headers.get("x-forwarded-for"), ','))
    if (std::string address = canonical_address(part); !address.empty())
      out.push_back(std::move(address));
  if (std::string real = canonical_address(request.headers.get("x-real-ip"));
      !real.empty() && std::ranges::find(out, real) == out.end())
    out.push_back(std::move(real));
  // The server's own requests have no connection.
  std::string remote = request.peer ? request.peer->address : "127.0.0.1";
  if (out.empty() || out.back() != remote) out.push_back(std::move(remote));
  return out;
}

std::vector<std::pair<std::string, std::string>> annotations_of(const authn::Identity& identity) {
  std::vector<std::pair<std::string, std::string>> out;
  auto add = [&out](std::string_view key, std::string_view value) {
    if (!value.empty()) out.emplace_back(cat("authentication.cardea.dev/", key), value);
  };
  add("authenticator", identity.authenticator);
  add("issuer", identity.issuer);
  add("key-id", identity.key_id);
  add("credential-id", identity.credential_id);
  out.insert(out.end(), identity.annotations.begin(), identity.annotations.end());
  return out;
}

std::string audit_id_of(const http::Request& request, Random& random) {
  std::string_view given = request.headers.get("audit-id");
  return is_plain_id(given) ? std::string(given) : make_uid(random);
}

AuditTrail::AuditTrail(const audit::Auditor& auditor, const Clock& clock, Random& random,
                       const http::Request& request, const authz::RequestInfo& info)
    : auditor_(auditor),
      clock_(clock),
      arrival_(std::make_shared<audit::Arrival>()),
      is_long_(is_long_running(info)) {
  audit::Arrival& a = *arrival_;
  a.received = clock.now();
  a.audit_id = audit_id_of(request, random);
  a.uri = request.target;
  a.verb = info.verb;
  a.user_agent = request.headers.get("user-agent");
  if (a.user_agent.size() > kLongestAgent) {
    a.user_agent.resize(kLongestAgent);
    a.user_agent += "...TRUNCATED";
  }
  a.source_ips = source_addresses(request);
  a.has_object = info.is_resource_request;
  if (a.has_object)
    a.object = {.resource = info.resource,
                .namespace_name = info.namespace_name,
                .name = info.name,
                .uid = "",
                .api_group = info.api_group,
                .api_version = info.api_version,
                .resource_version = "",
                .subresource = info.subresource};
  draft_.arrival = arrival_;
}

AuditTrail::~AuditTrail() {
  if (is_streaming_) record(Stage::kResponseComplete);
}

void AuditTrail::decide(const authz::User* user, const authz::RequestInfo& info) {
  treatment_ = auditor_.treat(user, info);
  arrival_->level = treatment_.level;
  arrival_->omit_managed_fields = treatment_.omit_managed_fields;
}

void AuditTrail::authenticated(const authn::Identity& identity, const authz::RequestInfo& info) {
  decide(&identity.user, info);
  if (treatment_.level == Level::kNone) return;
  arrival_->user = identity.user;
  draft_.annotations = annotations_of(identity);
  draft_.annotations.reserve(8);
}

void AuditTrail::unauthenticated(std::string_view why, const authz::RequestInfo& info) {
  is_refused_ = true;
  decide(nullptr, info);
  if (!why.empty()) annotate("authentication.cardea.dev/error", why);
}

Task<bool> AuditTrail::received(net::Loop& loop) {
  if (!records(Stage::kRequestReceived)) co_return true;
  audit::EventPtr made = event(Stage::kRequestReceived);
  if (!auditor_.blocks()) {
    auditor_.record(std::move(made), {});
    co_return true;
  }
  bool kept = co_await await_callback<bool>(
      [this, made](auto done) { auditor_.record(made, [done](bool ok) mutable { done(ok); }); });
  bool back = co_await continue_on(loop);
  (void)back;
  if (!kept) {
    auditor_.count_refusal();
    treatment_.level = Level::kNone;  // the refusal has nowhere to go either
  }
  co_return kept;
}

void AuditTrail::refused_to_impersonate(std::string_view user, std::string_view mode,
                                        std::string_view why) {
  if (treatment_.level == Level::kNone) return;
  annotate("impersonation.cardea.dev/requested-user", user);
  annotate("impersonation.cardea.dev/refused-mode", mode);
  annotate("impersonation.cardea.dev/refusal", why);
}

void AuditTrail::impersonated(const authz::User& user, std::string_view constraint,
                              const authz::Explanation& granted) {
  if (treatment_.level == Level::kNone) return;
  if (std::string why = granted.text(); !why.empty())
    annotate("impersonation.cardea.dev/granted-by", why);
  draft_.impersonated = std::make_shared<const authz::User>(user);
  draft_.impersonation_constraint = constraint;
}

void AuditTrail::authorized(const authz::Chain::Verdict& verdict) {
  if (treatment_.level == Level::kNone) return;
  const authz::Decision& d = verdict.decision;
  if (!verdict.authorizer.empty())
    annotate("authorization.cardea.dev/authorizer", verdict.authorizer);
  if (!d.error.empty()) annotate("authorization.cardea.dev/error", d.error);
  if (verdict.permit && verdict.permit->is_conditional()) {
    std::string conditions;
    conditions_to(conditions, d, "");
    annotate("authorization.k8s.io/is-conditional-decision", "true");
    annotate("authorization.cardea.dev/conditions", conditions);
    return;
  }
  if (!verdict.permit && !d.error.empty())
    return annotate("authorization.k8s.io/reason", "internal error");
  annotate("authorization.k8s.io/decision", verdict.permit ? "allow" : "forbid");
  annotate("authorization.k8s.io/reason", d.reason.text());
}

void AuditTrail::authorized_again(const authz::Chain::Verdict& verdict) {
  std::erase_if(draft_.annotations,
                [](const auto& entry) { return entry.first.starts_with("authorization."); });
  authorized(verdict);
}

void AuditTrail::sent_object(const json::Value& object, std::size_t bytes) {
  if (treatment_.level == Level::kNone) return;
  const json::Value& metadata = object["metadata"];
  draft_.sent.namespace_name = metadata["namespace"].as_string();
  draft_.sent.name = metadata["name"].as_string();
  draft_.sent.uid = metadata["uid"].as_string();
  draft_.sent.resource_version = metadata["resourceVersion"].as_string();
  sent_patch(object, bytes);
}

void AuditTrail::sent_patch(const json::Value& patch, std::size_t bytes) {
  if (treatment_.level < Level::kRequest) return;
  draft_.has_request_object = true;
  draft_.request_object = patch;
  draft_.request_bytes = bytes;
}

void AuditTrail::annotate(std::string_view key, std::string_view value, bool needs_request_level) {
  if (treatment_.level < (needs_request_level ? Level::kRequest : Level::kMetadata)) return;
  for (const auto& [k, v] : draft_.annotations)
    if (k == key) return;
  draft_.annotations.emplace_back(key, value);
}

void AuditTrail::replace(std::string_view key, std::string_view value) {
  std::erase_if(draft_.annotations, [key](const auto& entry) { return entry.first == key; });
  annotate(key, value);
}

audit::EventPtr AuditTrail::event(Stage stage, bool is_last) {
  auto out = is_last ? std::make_shared<audit::Event>(std::move(draft_))
                     : std::make_shared<audit::Event>(draft_);
  out->stage = stage;
  out->at = stage == Stage::kRequestReceived ? arrival_->received : clock_.now();
  return out;
}

void AuditTrail::record(Stage stage) {
  if (records(stage)) auditor_.record(event(stage), {});
}

void AuditTrail::begin_stream(http::Response& head) {
  head.headers.set("Audit-Id", arrival_->audit_id);
  draft_.code = head.status;
  record(Stage::kResponseStarted);
  is_streaming_ = true;
}

void AuditTrail::respond(std::shared_ptr<http::Exchange> exchange, http::Response response,
                         AnswerBody::Kind kind, http::Body shown) {
  is_streaming_ = false;  // a stream that could not begin is answered like any other request
  response.headers.set("Audit-Id", arrival_->audit_id);
  auto send = [](const std::shared_ptr<http::Exchange>& to, http::Response answer) {
    if (to) to->respond(std::move(answer));
  };
  if (treatment_.level == Level::kNone) return send(exchange, std::move(response));
  draft_.code = response.status;
  // The body of a Status is small and has the reason; other bodies are shown only by the highest
  // level.
  if (kind == AnswerBody::Kind::kStatus || treatment_.level >= Level::kRequestResponse) {
    bool is_yaml = response.headers.get("content-type").starts_with("application/yaml");
    draft_.answer = {kind, is_yaml, std::move(shown)};
  }
  if (is_long_ || is_refused_) record(Stage::kResponseStarted);
  // A request of an unknown sender has no final event, as in Kubernetes.
  if (is_refused_ || !records(Stage::kResponseComplete)) return send(exchange, std::move(response));
  if (!auditor_.blocks()) {
    auditor_.record(event(Stage::kResponseComplete, true), {});
    return send(exchange, std::move(response));
  }
  if (!exchange) return auditor_.record(event(Stage::kResponseComplete, true), {});
  auditor_.record(
      event(Stage::kResponseComplete, true),
      [exchange = std::move(exchange), response = std::move(response)](bool) mutable {
        // The waiter for the answer continues on the request's loop, not on the thread that writes
        // events.
        net::Loop& loop = exchange->loop();
        loop.post([exchange = std::move(exchange), response = std::move(response)]() mutable {
          exchange->respond(std::move(response));
        });
      });
}

}  // namespace cardea::rest
