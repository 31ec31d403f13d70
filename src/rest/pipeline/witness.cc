#include "rest/pipeline/witness.h"

#include <algorithm>

#include "base/strings.h"
#include "http/gzip.h"
#include "rest/catalog_holder.h"
#include "rest/decision_history.h"
#include "rest/memory_budget.h"

namespace cardea::rest::pipeline {
namespace {

AuthorizationResult result_of(const authz::Chain::Verdict& verdict) {
  if (verdict.permit)
    return verdict.permit->is_conditional() ? AuthorizationResult::kConditional
                                            : AuthorizationResult::kAllowed;
  if (!verdict.decision.error.empty()) return AuthorizationResult::kError;
  return verdict.decision.kind == authz::Decision::Kind::kDeny ? AuthorizationResult::kDenied
                                                               : AuthorizationResult::kNoOpinion;
}

// Of a request: its path without the query, which may hold secrets, and neither headers nor body.
Log::Fields log_fields(const http::Request& request, int status, std::chrono::nanoseconds took,
                       const authn::Identity& identity, const authz::User& user) {
  Log::Fields fields{{"method", request.method},
                     {"path", request.path},
                     {"status", std::to_string(status)},
                     {"user", user.name},
                     {"microseconds", std::to_string(took.count() / 1'000)}};
  auto add = [&fields](std::string_view key, const std::string& value) {
    if (!value.empty()) fields.push_back({key, value});
  };
  add("authenticator", identity.authenticator);
  add("issuer", identity.issuer);
  add("key-id", identity.key_id);
  add("credential-id", identity.credential_id);
  for (const auto& [key, value] : identity.annotations) add(key, value);
  return fields;
}

// `"bob"["system:authenticated"]`. Groups of a token may hold anything.
std::string shown(const authz::User& user) {
  std::vector<std::string> groups;
  for (const std::string& g : user.groups) groups.push_back(quoted(g));
  return cat(quoted(user.name), "[", join(groups, " "), "]");
}

// What an answer is to the audit log, before it is made ready to send: objects and Statuses of the
// API are shown.
audit::AnswerBody::Kind kind_of(const Result<Answer>& answer, const authz::RequestInfo& info) {
  using Kind = audit::AnswerBody::Kind;
  bool is_of_api = info.is_resource_request || info.path == "/api" ||
                   info.path.starts_with("/api/") || info.path.starts_with("/apis");
  if (!answer || (!answer->is_raw && answer->document["kind"].as_string() == "Status"))
    return Kind::kStatus;
  if (!is_of_api || answer->is_streaming) return Kind::kOther;
  bool is_json = !answer->is_raw || answer->content_type.empty() ||
                 answer->content_type.starts_with("application/json");
  return is_json ? Kind::kObject : Kind::kOther;
}

// Nobody looks for these: they come all the time, or are the looking itself. Refusals are kept.
bool is_dull(const authz::RequestInfo& info) {
  if (info.is_resource_request) return info.api_group == kOwnGroup && info.resource == kDecisions;
  constexpr std::string_view kHealth[] = {"/healthz", "/livez", "/readyz"};
  return std::ranges::any_of(kHealth, [&](std::string_view path) {
    return info.path == path || (info.path.starts_with(path) && info.path[path.size()] == '/');
  });
}

// Why conditions or fields refused a request; empty if they did not.
std::string refusal_in(const admission::AuditAnnotations& annotations) {
  std::string_view decision, reason;
  for (const auto& entry : annotations.entries) {
    if (entry.key == "authorization.k8s.io/decision") decision = entry.value;
    if (entry.key == "authorization.k8s.io/reason") reason = entry.value;
  }
  return decision == "forbid" ? std::string(reason) : std::string();
}

const authn::Identity& identity_of(const Journey& journey) {
  static const authn::Identity kNobody;
  return journey.recognised ? journey.recognised->identity : kNobody;
}

}  // namespace

Witness::Witness(const Watchers& watchers, Services& services,
                 std::shared_ptr<http::Exchange> exchange)
    : frame{.now = services.clock.now()},
      watchers_(watchers),
      services_(services),
      exchange_(std::move(exchange)) {}

Witness::~Witness() {
  if (trace_) {
    trace_->finish();
    watchers_.traces->take(std::move(trace_));
  }
  if (in_flight_) in_flight_->fetch_sub(1, std::memory_order_relaxed);
}

RequestSeries& Witness::series_of(const Journey& journey, const authz::RequestInfo& info,
                                  const catalog::Resource* resource) const {
  std::shared_ptr<const catalog::Catalog> catalog;
  // Requests of unknown senders are counted by verb alone.
  const bool has_sender = journey.recognised || journey.acting;
  if (!resource && has_sender && info.is_resource_request) {
    catalog = services_.catalog.get();
    resource = catalog->find(info.api_group, info.api_version, info.resource);
  }
  return services_.metrics.requests().find(labels_of(info, exchange_->request(), resource));
}

// Names and paths, as the log has them; neither queries nor bodies.
void Witness::begin_trace(const Journey& j) {
  trace_ = j.trace;
  if (!trace_) return;
  const authz::RequestInfo& info = j.asked->info;
  trace_->note("http.request.method", exchange_->request().method);
  trace_->note("url.path", std::string(exchange_->request().path));
  trace_->note("k8s.verb", info.verb);
  if (info.is_resource_request) {
    trace_->note("k8s.resource", info.subresource.empty()
                                     ? info.resource
                                     : cat(info.resource, "/", info.subresource));
    if (!info.api_group.empty()) trace_->note("k8s.group", info.api_group);
    if (!info.namespace_name.empty()) trace_->note("k8s.namespace", info.namespace_name);
  }
}

Task<bool> Witness::saw(const Journey& j) {
  if (!j.asked) co_return true;
  begin_trace(j);
  const authz::RequestInfo& info = j.asked->info;
  if (info.verb != "watch") {
    constexpr std::string_view kReads[] = {"get", "list", "head"};
    in_flight_ = &services_.metrics.in_flight(std::ranges::find(kReads, info.verb) ==
                                              std::end(kReads));
    in_flight_->fetch_add(1, std::memory_order_relaxed);
  }
  frame.view.pretty = j.asked->is_pretty;
  if (watchers_.auditor)
    trail_ = std::make_shared<AuditTrail>(*watchers_.auditor, services_.clock, services_.random,
                                          exchange_->request(), info);
  if (j.recognised || !j.acting)
    services_.metrics.count_authentication(j.recognised ? &j.sender().name : nullptr,
                                           j.recognised_in);
  if (!j.recognised && !j.acting) {
    if (watchers_.log)
      watchers_.log->write(LogLevel::kWarning,
                           cat("unable to authenticate the request: ", j.why_unrecognised));
    if (trail_) trail_->unauthenticated(j.why_unrecognised, info);
    co_return true;
  }
  user = j.acting ? &j.acting->user : &j.sender();
  if (trail_) {
    authn::Identity identity = identity_of(j);
    identity.user = j.sender();
    trail_->authenticated(identity, info);
    bool is_recorded = co_await trail_->received(exchange_->loop());
    if (!is_recorded) co_return false;
  }
  is_refusal = j.end && j.end->is_refusal;
  if (trail_ && j.refused_impersonation && !j.end->answer)
    trail_->refused_to_impersonate(j.refused_impersonation->user,
                                   impersonation::mode_name(j.refused_impersonation->mode),
                                   j.end->answer.error().message);
  if (!j.acting) co_return true;
  if (j.acting->deputy) {
    const impersonation::Deputy& deputy = *j.acting->deputy;
    if (watchers_.log && watchers_.log->has(LogLevel::kRequest))
      watchers_.log->write(LogLevel::kRequest,
                           cat(shown(deputy.sender), " is impersonating ", shown(j.acting->user)),
                           {{"mode", std::string(impersonation::mode_name(deputy.mode))}});
    if (trail_) trail_->impersonated(j.acting->user, deputy.constraint(), deputy.granted);
  }
  if (!j.decided) co_return true;  // it was refused before
  const AuthorizationResult result = result_of(j.decided->verdict);
  is_conditional_ = result == AuthorizationResult::kConditional || j.decided->is_granular;
  services_.metrics.count_authorization(result, j.asked->info.verb, j.decided->took);
  if (trail_) trail_->authorized(j.decided->verdict);
  co_return true;
}

void Witness::saw_again(const Journey& j) {
  is_refusal = j.end && j.end->is_refusal;
  if (!j.decided) return;
  const AuthorizationResult result = result_of(j.decided->verdict);
  is_conditional_ = result == AuthorizationResult::kConditional || j.decided->is_granular;
  services_.metrics.count_authorization(result, j.asked->info.verb, j.decided->took);
  if (trail_) trail_->authorized_again(j.decided->verdict);
}

void Witness::saw(const Call& call) {
  if (services_.decisions) reason_ = refusal_in(call.audit_annotations);
  if (trail_)
    for (const auto& [key, value, needs_request_level, replaces] : call.audit_annotations.entries)
      replaces ? trail_->replace(key, value) : trail_->annotate(key, value, needs_request_level);
  if (!watchers_.log) return;
  // The client reads that conditions failed; the reason is only for operators of the server.
  const http::Request& request = exchange_->request();
  for (const auto& entry : call.audit_annotations.entries)
    if (entry.key == "authorization.cardea.dev/conditions-error")
      watchers_.log->write(LogLevel::kWarning, "the conditions of a request failed",
                           {{"method", request.method},
                            {"path", request.path},
                            {"user", call.user.name},
                            {"error", entry.value}});
}

void Witness::log(const Journey& journey, int status) const {
  static const authz::User kNobody;
  if (watchers_.log && watchers_.log->has(LogLevel::kRequest))
    watchers_.log->write(LogLevel::kRequest, "request",
                         log_fields(exchange_->request(), status, watch_.elapsed(),
                                    identity_of(journey), user ? *user : kNobody));
}

// Requests of clients that the chain, or the permission to impersonate, decided about. A 403 is a
// refusal, whoever said it: the chain, a condition, a field, a guard or admission.
void Witness::remember(const Journey& j, const authz::RequestInfo& info, int status) const {
  const bool is_decided = j.decided || j.refused_impersonation;
  if (!services_.decisions || !j.recognised || !user || !is_decided) return;
  const bool has_failed = !j.decided || (j.end && !j.decided->verdict.decision.error.empty());
  const Outcome outcome = status == 403 ? Outcome::kDenied
                          : has_failed  ? Outcome::kError
                                        : Outcome::kAllowed;
  if (outcome == Outcome::kAllowed && is_dull(info)) return;
  const bool has_deputy = j.acting && j.acting->deputy;
  std::string_view reason = reason_;
  if (outcome == Outcome::kAllowed) reason = {};
  if (outcome == Outcome::kError && j.decided) reason = j.decided->verdict.decision.error;
  services_.decisions->record(
      {.at = frame.now,
       .outcome = outcome,
       .is_conditional = is_conditional_,
       .code = status,
       .verb = info.verb,
       .group = info.api_group,
       .version = info.api_version,
       .resource = info.resource,
       .subresource = info.subresource,
       .namespace_name = info.namespace_name,
       .name = info.name,
       .path = info.is_resource_request ? std::string_view() : std::string_view(info.path),
       .user = user->name,
       .impersonator = has_deputy ? std::string_view(j.acting->deputy->sender.name)
                                  : std::string_view(),
       .reason = reason,
       .groups = user->groups});
}

void Witness::respond(Result<Answer> answer, const Journey& journey, const authz::RequestInfo& info,
                      const std::vector<std::string>& warnings) {
  if (std::exchange(is_answered_, true)) return;
  bool is_raw = answer && answer->is_raw;
  auto kind = trail_ ? kind_of(answer, info) : audit::AnswerBody::Kind::kOther;
  frame.accept = exchange_->request().headers.get("accept");
  std::shared_ptr<const catalog::Catalog> catalog;
  if (!frame.catalog && !is_raw) {
    catalog = services_.catalog.get();
    frame.catalog = catalog.get();
  }
  Result<Answer> audited = trail_ ? answer : Result<Answer>();
  // Of a refusal by the chain. What admission says may quote the object, and is not kept.
  if (services_.decisions && is_refusal && !answer) reason_ = answer.error().message;
  http::Response response = present(std::move(answer), frame, warnings);
  if (is_refusal) response.headers.add("X-Content-Type-Options", "nosniff");
  fairness::name_flow(flow, response.headers);
  response.gzip = http::wants_gzip(exchange_->request().headers, response.body.size());
  if (!has_given_up_) {
    hold(response);
    series_of(journey, info, frame.resource)
        .count(response.status, watch_.elapsed(), response.body.size());
    log(journey, response.status);
    remember(journey, info, response.status);
    if (trace_) trace_->note("http.response.status_code", std::to_string(response.status));
  }
  if (!trail_ && has_given_up_) return;
  if (!trail_) {
    response.headers.add("Audit-Id", audit_id_of(exchange_->request(), services_.random));
    return exchange_->respond(std::move(response));
  }
  // The form that was asked for may have turned an object into a refusal.
  if (response.status >= 400 && !is_raw) kind = audit::AnswerBody::Kind::kStatus;
  http::Body shown = response.body;
  if (!is_raw && response.headers.get("content-type") == kProtobufType) {
    Frame as_json = frame;
    as_json.accept = {};
    as_json.view.format = Format::kJson;
    shown = present(std::move(audited), as_json, {}).body;
  }
  trail_->respond(has_given_up_ ? nullptr : exchange_, std::move(response), kind, std::move(shown));
}

namespace {

// The same bytes; `thing` lives as long as they do.
http::Body kept_with(const http::Body& body, const std::shared_ptr<const void>& thing) {
  using Both = std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>;
  http::Body out;
  for (std::size_t i = 0; i < body.pieces(); ++i) {
    const http::Piece& piece = body.piece(i);
    out.add({std::make_shared<const Both>(piece.owner, thing), piece.bytes});
  }
  return out;
}

}  // namespace

// A large answer counts as its user's until the network has taken it. If too much waits already,
// the client is told to come again.
void Witness::hold(http::Response& response) {
  const std::size_t bytes = response.body.size();
  if (!services_.answers || !user || bytes < MemoryBudget::kCounted) return;
  if (auto room = services_.answers->take(*user, bytes)) {
    response.body = kept_with(response.body, room);
    return;
  }
  Error error = Error::of(Reason::kTooManyRequests,
                          "too much that was answered is not read yet, please try again later")
                    .with({.retry_after_seconds = 1});
  response = present(fail(std::move(error)), frame, {});
}

// As kube-apiserver sends it: text, without kind.
Answer too_late() {
  Answer late;
  late.status = 504;
  late.is_raw = true;
  late.content_type = "text/plain; charset=utf-8";
  late.body = http::Body(std::string(kTooLate));
  return late;
}

void Witness::give_up(const Journey& journey, const authz::RequestInfo& info) {
  if (is_answered_ || std::exchange(has_given_up_, true)) return;
  http::Response response = present(too_late(), frame, {});
  fairness::name_flow(flow, response.headers);
  response.headers.add("Audit-Id", trail_ ? trail_->audit_id()
                                          : audit_id_of(exchange_->request(), services_.random));
  series_of(journey, info, frame.resource)
      .count(response.status, watch_.elapsed(), response.body.size());
  log(journey, response.status);
  remember(journey, info, response.status);
  exchange_->respond(std::move(response));
}

void Witness::streams(const Journey& journey, const Call& call, int status) {
  series_of(journey, call.info, call.resource).count_stream(status);
  log(journey, status);
  remember(journey, call.info, status);
}

}  // namespace cardea::rest::pipeline
