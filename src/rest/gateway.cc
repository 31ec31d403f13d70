#include "rest/gateway.h"

#include "authz/refusal.h"
#include "base/strings.h"
#include "catalog/kinds/names.h"
#include "impersonation/headers.h"
#include "rest/audit_trail.h"
#include "rest/blind_caller.h"
#include "rest/catalog_holder.h"
#include "rest/field_permissions.h"
#include "rest/policy/guard.h"
#include "rest/presentation.h"
#include "rest/status.h"
#include "rest/subresources.h"
#include "rest/verbs.h"
#include "rest/write.h"

namespace cardea::rest {
namespace {

bool knows_group(const catalog::Catalog& catalog, std::string_view group, bool& is_custom) {
  for (const catalog::Group& g : catalog.groups())
    if (g.name == group) {
      is_custom = !g.versions.empty() && !g.versions[0].resources.empty() && g.versions[0].resources[0]->is_custom;
      return true;
    }
  return false;
}

// What a client should know about the resource it uses, whatever it does with it.
std::string deprecation(const catalog::Resource& r) {
  if (!r.is_custom) return std::string(r.deprecation);
  const json::Value& v = r.custom_version;
  if (!v["deprecated"].as_bool()) return "";
  if (std::string_view text = v["deprecationWarning"].as_string(); !text.empty()) return std::string(text);
  return cat(r.api_version(), " ", r.kind, " is deprecated");
}

// A 500 of a filter: text, not a Status.
Answer internal_error_text(const http::Request& request, std::string_view why) {
  return text_answer(500, authz::html_escaped(cat("Internal Server Error: ", quoted(request.target), ": ", why)) + "\n");
}

AuthorizationResult result_of(const authz::Chain::Verdict& verdict) {
  if (verdict.permit) return verdict.permit->is_conditional() ? AuthorizationResult::kConditional : AuthorizationResult::kAllowed;
  if (!verdict.decision.error.empty()) return AuthorizationResult::kError;
  return verdict.decision.kind == authz::Decision::Kind::kDeny ? AuthorizationResult::kDenied : AuthorizationResult::kNoOpinion;
}

std::string log_line(const http::Request& request, int status, const authn::Identity& identity, const authz::User& user) {
  std::string line = cat(request.method, " ", quoted(request.path), " ", status, " user=", quoted(user.name));
  auto add = [&line](std::string_view key, std::string_view value) {
    if (!value.empty()) line += cat(" ", key, "=", quoted(value));
  };
  add("authenticator", identity.authenticator);
  add("issuer", identity.issuer);
  add("key-id", identity.key_id);
  add("credential-id", identity.credential_id);
  for (const auto& [key, value] : identity.annotations) add(key, value);
  return line;
}

// `"bob"["system:authenticated"]`. Groups of a token may hold anything.
std::string shown(const authz::User& user) {
  std::vector<std::string> groups;
  for (const std::string& g : user.groups) groups.push_back(quoted(g));
  return cat(quoted(user.name), "[", join(groups, " "), "]");
}

std::string impersonation_line(const impersonation::Deputy& deputy, const authz::User& user) {
  return cat(shown(deputy.sender), " is impersonating ", shown(user), " mode=", impersonation::mode_name(deputy.mode));
}

// What a request brings to say who sends it, and what that borrows.
struct Presented {
  authn::CertificateIdentity certificate;
  std::string decoded;
  authn::Credentials credentials;
};

Result<void> read_credentials(http::Request& request, Presented& out) {
  auto token = authn::request_token(request.headers, out.decoded);
  if (!token) return fail(token.error());
  out.credentials.token = *token;
  out.credentials.path = request.path;
  out.credentials.headers = &request.headers;
  if (request.peer && request.peer->certificate) {
    const net::PeerCertificate& c = *request.peer->certificate;
    net::CertificateTrust trust = c.trust();
    out.certificate = {c.common_name, c.organizations, c.sha256, c.uid, c.issuer};
    out.credentials.certificate = &out.certificate;
    out.credentials.is_client = trust.client;
    out.credentials.is_front_proxy = trust.front_proxy;
  }
  return {};
}

// Whether a caller who may not do what they ask may still try to change single fields.
bool leaves_fields(const Services& services, const authz::RequestInfo& info, const authz::Decision& refusal) {
  if (!services.field_permissions || refusal.kind != authz::Decision::Kind::kNoOpinion || !refusal.error.empty()) return false;
  return may_be_granular(*services.catalog.get(), info);
}

// What an answer is to the audit log, before it is made ready to send: objects and Statuses of the API are shown.
audit::AnswerBody::Kind kind_of(const Result<Answer>& answer, const authz::RequestInfo& info) {
  using Kind = audit::AnswerBody::Kind;
  bool is_of_api = info.is_resource_request || info.path == "/api" || info.path.starts_with("/api/") || info.path.starts_with("/apis");
  if (!answer || (!answer->is_raw && answer->document["kind"].as_string() == "Status")) return Kind::kStatus;
  if (!is_of_api || answer->is_streaming) return Kind::kOther;
  bool is_json = !answer->is_raw || answer->content_type.empty() || answer->content_type.starts_with("application/json");
  return is_json ? Kind::kObject : Kind::kOther;
}

struct Row {
  std::string_view verb;
  Task<Result<Answer>> (*run)(Call&);
};

constexpr Row kVerbs[] = {
    {"get", get},       {"list", list},     {"create", create},
    {"update", update}, {"patch", patch},   {"delete", remove},
    {"deletecollection", remove_collection},
};

}  // namespace

Task<Result<authn::Identity>> Gateway::authenticate(http::Exchange& exchange, std::string* why) const {
  http::Request& request = exchange.request();
  Presented presented;
  if (auto ok = read_credentials(request, presented); !ok) {
    if (why) *why = ok.error().message;
    co_return fail(Error::of(Reason::kUnauthorized, "Unauthorized"));
  }
  std::optional<Result<authn::Identity>> answer = authenticators_.decide(presented.credentials, why);
  if (!answer) {
    Result<authn::Identity> waited = co_await authenticators_.authenticate(presented.credentials, why);
    answer = std::move(waited);
    bool back = co_await continue_on(exchange.loop());
    (void)back;
  }
  authenticators_.forget(request.headers);
  co_return std::move(*answer);
}

Task<Result<void>> Gateway::impersonate(http::Exchange& exchange, const authz::RequestInfo& info, authz::User& user,
                                        std::optional<impersonation::Deputy>& deputy) const {
  http::Headers& headers = exchange.request().headers;
  Result<std::optional<authz::User>> asked = impersonation::requested_user(headers, impersonator_->rules() == impersonation::Attempt::Rules::kConstrained);
  if (!asked) co_return fail(asked.error());
  if (!*asked) co_return Result<void>{};
  impersonation::remove_headers(headers);
  impersonation::Attempt attempt(user, std::move(**asked), info, impersonator_->rules());
  std::shared_ptr<const authz::Chain> chain = services_.authorizer.get();
  authz::Asking how = services_.conditional_authorization ? authz::Asking::kConditionsAware : authz::Asking::kFolded;
  if (!impersonator_->advance(*chain, attempt, how)) {
    bool finished = co_await impersonator_->finish(chain, attempt, how);
    (void)finished;
    bool back = co_await continue_on(exchange.loop());
    (void)back;
  }
  Result<authz::User> other = impersonator_->outcome(attempt);
  if (!other) co_return fail(other.error());
  deputy = {.sender = std::exchange(user, std::move(*other)), .mode = attempt.mode()};
  if (log_) log_(impersonation_line(*deputy, user));
  co_return Result<void>{};
}

Task<Result<Answer>> Gateway::serve_resource(Call& call) {
  const authz::RequestInfo& info = call.info;
  bool is_custom_group = false;
  call.resource = call.catalog->find(info.api_group, info.api_version, info.resource);
  if (!call.resource) {
    if (!knows_group(*call.catalog, info.api_group, is_custom_group) || is_custom_group)
      co_return text_answer(404, "404 page not found\n");
    co_return fail(unknown_resource());
  }
  const catalog::Resource& r = *call.resource;
  bool in_namespace = !info.namespace_name.empty() && info.resource != "namespaces";
  if (in_namespace && !r.namespaced) co_return fail(unknown_resource());
  if (r.namespaced && !in_namespace) {
    if (!info.name.empty() && info.verb != "list" && info.verb != "watch") co_return fail(unknown_resource());
    if (info.verb != "list" && info.verb != "watch") co_return fail(method_not_allowed());
  }
  // Objects of another version would have to go through the definition's webhook.
  bool by_webhook = r.is_custom && r.definition["spec"]["conversion"]["strategy"].as_string() == "Webhook";
  if (by_webhook && call.catalog->storage_of(r) != &r)
    co_return fail(Error::of(Reason::kNotImplemented, cat("conversion of ", r.qualified_name(), " to ", r.version,
                                                          " by a webhook is not served yet")));
  if (info.parts.size() > 3 && info.subresource != "proxy") co_return fail(unknown_resource());

  // Reviews are answers to a question, with no metadata to make a table of.
  Offer offer{.transforms = !r.storage_prefix.empty(),
              .is_custom = r.is_custom,
              .is_list = info.verb == "list" || info.verb == "watch",
              .is_watch = info.verb == "watch"};
  auto view = negotiate(call.request().headers.get("accept"), offer);
  if (!view) co_return fail(view.error());
  bool pretty = call.view.pretty;
  call.view = *view;
  call.view.pretty = pretty;

  if (auto wrong = catalog::name_is_path_segment(info.name, false); !info.name.empty() && !wrong.empty())
    co_return fail(bad_request(cat("Name parameter invalid: ", quoted(info.name), ": ", join(wrong, ";"))));
  if (!info.subresource.empty()) {
    call.subresource = r.subresource(info.subresource);
    if (!call.subresource) co_return fail(r.is_custom ? not_found(r, info.name) : unknown_resource());
    Result<Answer> answer = co_await serve_subresource(call);
    co_return answer;
  }
  bool is_named = !info.name.empty();
  // What is not kept has no members.
  if (is_named && r.storage_prefix.empty()) co_return fail(unknown_resource());
  bool fits = info.verb == "create" ? !is_named : info.verb == "update" || info.verb == "patch" ? is_named : true;
  if (fits)
    if (std::optional<Error> why = policy::refused_verb(r, info.verb, info.name)) co_return fail(std::move(*why));
  if (!fits || call.request().method == "HEAD" || info.verb.empty() || !r.has_verb(info.verb)) co_return fail(method_not_allowed());
  if (auto warning = deprecation(r); !warning.empty()) call.warnings.push_back(std::move(warning));
  if (info.verb == "watch") co_return watches_.watch(call);
  if (r.storage_prefix.empty()) {
    Result<Answer> answer = co_await serve_unstored(call);
    co_return answer;
  }
  for (const Row& row : kVerbs)
    if (row.verb == info.verb) {
      Result<Answer> answer = co_await row.run(call);
      co_return answer;
    }
  co_return fail(method_not_allowed());
}

Task<bool> Gateway::serve(std::shared_ptr<http::Exchange> exchange, std::optional<authz::User> known) {
  http::Request& request = exchange->request();
  Frame frame{.now = services_.clock.now()};
  View& view = frame.view;
  Stopwatch watch;
  std::string verb = "other";
  bool is_refusal = false;  // by the chain, or of an impersonation
  authn::Identity identity;
  std::optional<impersonation::Deputy> deputy;  // who sends a request that is served for somebody else
  const authz::User* user = &identity.user;
  std::shared_ptr<AuditTrail> trail;  // null where nothing is audited
  authz::RequestInfo* question = nullptr;
  auto respond = [&](Result<Answer> answer, const std::vector<std::string>& warnings) {
    bool is_raw = answer && answer->is_raw;
    auto kind = trail ? kind_of(answer, *question) : audit::AnswerBody::Kind::kOther;
    http::Response response = present(std::move(answer), frame, warnings);
    if (is_refusal) response.headers.add("X-Content-Type-Options", "nosniff");
    services_.metrics.count(verb, response.status, watch.elapsed());
    if (log_) log_(log_line(request, response.status, identity, *user));
    if (!trail) return exchange->respond(std::move(response));
    // The form that was asked for may have turned an object into a refusal.
    if (response.status >= 400 && !is_raw) kind = audit::AnswerBody::Kind::kStatus;
    trail->respond(exchange, std::move(response), kind);
  };
  auto refuse = [&](Error error) { respond(fail(std::move(error)), {}); };
  auto info = authz::parse_request_info(request.method, request.path, request.query);
  if (!info) {
    respond(internal_error_text(request, cat("failed to create RequestInfo: ", info.error().message)), {});
    co_return true;
  }
  verb = info->is_resource_request ? info->verb : "path";
  // What an earlier text of the proposal calls the same thing.
  if (info->api_group == "authorization.k8s.io" && info->resource == "admissionconditionsreviews") info->resource = "authorizationconditionsreviews";
  auto parameter = info->query.first("pretty");
  view.pretty = wants_pretty(request.headers.get("user-agent"), parameter.value_or(""), parameter.has_value());
  question = &*info;
  if (auditor_) trail = std::make_shared<AuditTrail>(*auditor_, services_.clock, services_.random, request, *info);
  if (known) {
    identity = {.user = std::move(*known), .authenticator = "loopback"};
  } else {
    std::string why;
    Result<authn::Identity> found = co_await authenticate(*exchange, refusal_log_ || trail ? &why : nullptr);
    if (!found) {
      if (refusal_log_) refusal_log_(cat("unable to authenticate the request: ", why));
      if (trail) trail->unauthenticated(why, *info);
      refuse(found.error());
      co_return true;
    }
    identity = std::move(*found);
  }
  if (trail) {
    trail->authenticated(identity, *info);
    bool is_recorded = co_await trail->received(exchange->loop());
    if (!is_recorded) {
      respond(internal_error_text(request, "failed to store audit event"), {});
      co_return true;
    }
  }
  if (!known) {
    Result<void> replaced = co_await impersonate(*exchange, *info, identity.user, deputy);
    if (!replaced) {
      is_refusal = true;
      refuse(replaced.error());
      co_return true;
    }
    if (trail && deputy) trail->impersonated(identity.user, deputy->constraint());
  }
  Stopwatch authorizing;
  authz::Attributes attributes{identity.user, *info};
  std::shared_ptr<const authz::Chain> chain = services_.authorizer.get();
  authz::Asking how = asking(services_, attributes);
  std::optional<authz::Chain::Verdict> at_once = chain->decide(attributes, how);
  if (!at_once) {
    authz::Chain::Verdict waited = co_await chain->authorize(attributes, how);
    at_once = std::move(waited);
    bool back = co_await continue_on(exchange->loop());
    (void)back;
  }
  authz::Chain::Verdict& verdict = *at_once;
  bool is_granular = false;
  if (!verdict.permit && leaves_fields(services_, *info, verdict.decision)) {
    authz::Attributes fields = attributes;
    fields.verb = schema::kGranularVerb;
    std::optional<authz::Chain::Verdict> granular = chain->decide(fields);
    if (!granular) {
      authz::Chain::Verdict waited = co_await chain->authorize(fields);
      granular = std::move(waited);
      bool back = co_await continue_on(exchange->loop());
      (void)back;
    }
    is_granular = granular->decision.allowed();
    if (is_granular) verdict = std::move(*granular);
  }
  services_.metrics.count_authorization(result_of(verdict), authorizing.elapsed());
  if (trail) trail->authorized(verdict);
  if (!verdict.permit) {
    // What went wrong is told before a refusal: the answer might have been another.
    is_refusal = verdict.decision.error.empty();
    if (is_refusal) refuse(authz::refusal(*services_.authorizer.get(), attributes, verdict.decision));
    else respond(internal_error_text(request, verdict.decision.error), {});
    co_return true;
  }
  if (!info->is_resource_request) {
    auto found = description_.answer(request, *info);
    auto parts = split(std::string_view(info->path).substr(1), '/');
    bool is_custom = false;
    bool of_known_group = (parts[0] == "api" || (parts[0] == "apis" && parts.size() > 1 &&
                                                 knows_group(*services_.catalog.get(), parts[1], is_custom)));
    Result<Answer> answer = found                         ? std::move(*found)
                            : of_known_group && !is_custom ? Result<Answer>(fail(unknown_resource()))
                                                           : Result<Answer>(text_answer(404, "404 page not found\n"));
    respond(std::move(answer), {});
    co_return true;
  }
  Call call{.exchange = exchange,
            .services = services_,
            .info = std::move(*info),
            .user = std::move(identity.user),
            .identity = identity,
            .permit = std::move(*verdict.permit),
            .chain = std::move(chain),
            .catalog = services_.catalog.get(),
            .resource = nullptr,
            .view = view,
            .started = rfc3339(frame.now),
            .trail = trail,
            .is_granular = is_granular};
  user = &call.user;
  question = &call.info;
  bool is_conditional = call.permit.is_conditional();
  if (is_conditional) call.audit_annotations.set("authorization.k8s.io/is-conditional-decision", "true");
  // What was refused for having come without its body may be allowed by now; its body is gone all the same.
  if (call.request().body_withheld) {
    respond(fail(Error::of(Reason::kServiceUnavailable, "the policy changed while this request was being read; try again")), {});
    co_return true;
  }
  Result<Answer> answer = co_await serve_resource(call);
  // A verb that does not go through admission must not make a yes of a perhaps.
  if (is_conditional && answer && !call.authorization.is_settled && call.info.verb != "deletecollection") {
    constexpr std::string_view kOpen = "the conditions of this request were not settled";
    note_refusal(call, kOpen);
    answer = fail(authz::forbidden(authz::Attributes{call.user, call.info}, std::string(kOpen)));
  }
  if (trail)
    for (const auto& [key, value, needs_request_level, replaces] : call.audit_annotations.entries)
      replaces ? trail->replace(key, value) : trail->annotate(key, value, needs_request_level);
  // The client reads that conditions failed; why is for those who run the server. Quoted, for it may hold what clients sent.
  if (refusal_log_)
    for (const auto& entry : call.audit_annotations.entries)
      if (entry.key == "authorization.cardea.dev/conditions-error")
        refusal_log_(cat("conditions of ", request.method, " ", quoted(request.path), " by ", quoted(call.user.name), ": ", quoted(entry.value)));
  if (tells_of_object(call, answer)) {
    bool blind = co_await is_blind(call);
    if (blind) answer = seen_blindly(call, std::move(answer));
  }
  if (answer && answer->is_streaming) {
    services_.metrics.count_stream(verb, 200);
    if (log_) log_(log_line(request, 200, identity, *user));
    co_return true;
  }
  frame.view = call.view;
  frame.catalog = call.catalog.get();
  frame.resource = call.resource;
  frame.include_object = call.info.query.first("includeObject").value_or("");
  if (!answer && call.refusal.is_object() && call.refusal["message"].as_string() == answer.error().message) {
    Answer refused = Answer::of(std::move(call.refusal), status_code(answer.error()));
    refused.transforms = false;
    answer = std::move(refused);
  }
  respond(std::move(answer), call.warnings);
  co_return true;
}

bool Gateway::wants_body(http::Request& request) const {
  auto info = authz::parse_request_info(request.method, request.path, request.query);
  if (!info || !info->is_resource_request) return true;
  // Who asks in the name of somebody else is looked at when the whole request is there.
  for (const auto& [name, value] : request.headers)
    if (lower(name).starts_with("impersonate-")) return true;
  Presented presented;
  if (auto ok = read_credentials(request, presented); !ok) return true;
  auto found = authenticators_.decide(presented.credentials, nullptr);
  if (!found || !*found) return true;
  authz::Attributes attributes{(*found)->user, *info};
  auto verdict = services_.authorizer.decide(attributes, asking(services_, attributes));
  if (!verdict || verdict->permit) return true;
  if (!leaves_fields(services_, *info, verdict->decision)) return false;
  attributes.verb = schema::kGranularVerb;
  verdict = services_.authorizer.decide(attributes);
  return !verdict || verdict->permit;
}

void Gateway::handle(std::shared_ptr<http::Exchange> exchange) {
  spawn(serve(std::move(exchange), std::nullopt), [](bool) {});
}

void Gateway::handle_as(std::shared_ptr<http::Exchange> exchange, authz::User user) {
  spawn(serve(std::move(exchange), std::move(user)), [](bool) {});
}

}  // namespace cardea::rest
