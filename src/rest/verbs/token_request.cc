// serviceaccounts/token: a token for a service account, bound to its audiences and to an
// object.
#include "authn/service_account/tokens.h"
#include "base/strings.h"
#include "base/time_parse.h"
#include "json/field_error.h"
#include "rest/audit_trail.h"
#include "rest/present/status.h"
#include "rest/verbs/body.h"
#include "rest/verbs/request_match.h"
#include "rest/verbs/subresources.h"
#include "rest/write/ownership.h"
#include "rest/write/stored_object.h"
#include "rest/write/write.h"
#include "schema/ownership/managed_fields.h"

namespace cardea::rest {

using json::Value;

namespace {

constexpr std::string_view kGroup = "authentication.k8s.io";
constexpr std::string_view kKind = "TokenRequest";
constexpr std::int64_t kDefault = 3600;
constexpr std::int64_t kShortest = 600;
constexpr std::int64_t kLongest = 1ll << 32;

Error invalid(std::string_view name, json::FieldError error) {
  return json::invalid_object(kGroup, kKind, name, {std::move(error)});
}

Result<void> check_lifetime(const Value& spec) {
  const Value& lifetime = spec["expirationSeconds"];
  if (lifetime.as_int() < kShortest)
    return fail(invalid("", json::invalid("spec.expirationSeconds", lifetime,
                                          "may not specify a duration less than 10 minutes")));
  if (lifetime.as_int() > kLongest)
    return fail(invalid("", json::invalid("spec.expirationSeconds", lifetime,
                                          "may not specify a duration larger than 2^32 seconds")));
  return {};
}

// A stored object of the core group, or 404.
Result<Value> read_core(const Call& call, std::string_view resource, std::string_view name) {
  if (name.empty()) return fail(bad_request("Name parameter required."));
  const catalog::Resource* r = call.catalog->find("", "v1", resource);
  store::RecordPtr record = call.services.store.get(
      object_key(*r, r->namespaced ? call.info.namespace_name : "", name));
  if (!record) return fail(not_found(*r, name));
  return parse_stored(*record);
}

authn::ObjectRef reference(const Value& object) {
  return {std::string(object["metadata"]["name"].as_string()),
          std::string(object["metadata"]["uid"].as_string())};
}

Result<void> bind_to_pod(const Call& call, std::string_view name,
                         authn::ServiceAccountClaims& claims) {
  auto pod = read_core(call, "pods", name);
  if (!pod) return fail(pod.error());
  if ((*pod)["spec"]["serviceAccountName"].as_string() != call.info.name)
    return fail(bad_request(cat("cannot bind token for serviceaccount ", quoted(call.info.name),
                                " to pod running with different serviceaccount name.")));
  claims.pod = reference(*pod);
  std::string_view node_name = (*pod)["spec"]["nodeName"].as_string();
  if (node_name.empty()) return {};
  auto node = read_core(call, "nodes", node_name);
  claims.node = node ? reference(*node) : authn::ObjectRef{std::string(node_name), ""};
  return {};
}

// The object to which the token is bound.
Result<void> bind(const Call& call, const Value& ref, authn::ServiceAccountClaims& claims) {
  if (ref.is_null()) return {};
  std::string_view version = ref["apiVersion"].as_string(), kind = ref["kind"].as_string(),
                   name = ref["name"].as_string();
  bool is_core = version.find('/') == std::string_view::npos;
  std::string uid;
  if (is_core && kind == "Pod") {
    if (auto ok = bind_to_pod(call, name, claims); !ok) return ok;
    uid = claims.pod->uid;
  } else if (is_core && (kind == "Node" || kind == "Secret")) {
    auto object = read_core(call, kind == "Node" ? "nodes" : "secrets", name);
    if (!object) return fail(object.error());
    (kind == "Node" ? claims.node : claims.secret) = reference(*object);
    uid = reference(*object).uid;
  } else {
    return fail(bad_request(
        cat("cannot bind token to object of type ", is_core ? "/" : "", version, ", Kind=", kind)));
  }
  std::string_view given = ref["uid"].as_string();
  if (!given.empty() && given != uid)
    return fail(Error::of(Reason::kConflict,
                          cat("Operation cannot be fulfilled on ", kind, " ", quoted(name),
                              ": the UID in the bound object reference (", given,
                              ") does not match the UID in record. The object might have been "
                              "deleted and then recreated"))
                    .with({.name = std::string(name), .kind = std::string(kind)}));
  return {};
}

// What the request says about the account must be true of the account.
Result<void> describe_account(const Call& call, const Value& account, Value& request) {
  Value& meta = request.member("metadata");
  std::string_view uid = account["metadata"]["uid"].as_string(), given = meta["uid"].as_string();
  if (!given.empty() && given != uid)
    return fail(
        Error::of(Reason::kConflict,
                  cat("Operation cannot be fulfilled on TokenRequest.authentication.k8s.io ",
                      quoted(call.info.name), ": the UID in the token request (", given,
                      ") does not match the UID of the service account (", uid, ")"))
            .with({.name = call.info.name,
                   .group = std::string(kGroup),
                   .kind = std::string(kKind)}));
  meta.set("name", call.info.name);
  meta.set("uid", uid);
  meta.set("creationTimestamp", call.started.text());
  return {};
}

// Not waited for: what follows asks admission.
Result<void> prepare(Call& call, Value& request) {
  std::string_view name = request["metadata"]["name"].as_string();
  if (!name.empty() && name != call.info.name)
    return fail(invalid(
        call.info.name,
        json::invalid("metadata.name", name, "must match the service account name if specified")));
  auto account = read_core(call, "serviceaccounts", call.info.name);
  if (!account) return fail(account.error());
  call.open.sight.has_read = true;
  if (auto ok = describe_account(call, *account, request); !ok) return ok;
  Value& spec = request.member("spec");
  if (spec["audiences"].empty())
    for (const std::string& a : call.services.service_account_tokens->options().audiences)
      spec.member("audiences").push_back(a);
  if (!spec.has("boundObjectRef")) spec.set("boundObjectRef", Value());
  request.set("status", Value::object({{"token", ""}, {"expirationTimestamp", Value()}}));
  return check_lifetime(spec);
}

}  // namespace

Task<Result<Answer>> request_token(Call& call) {
  const authn::ServiceAccountTokens* tokens = call.services.service_account_tokens;
  if (!tokens)
    co_return fail(
        Error::of(Reason::kNotImplemented, "this server issues no service account tokens"));
  auto options = write_options(call.info.query, "CreateOptions");
  if (!options) co_return fail(options.error());
  auto request = read_object(call, Expected::body_of(call), options->field_validation);
  if (!request) co_return fail(request.error());
  if (auto ok = check_namespace(call, *request); !ok) co_return fail(ok.error());
  if (Value& spec = request->member("spec"); spec["expirationSeconds"].is_null())
    spec.set("expirationSeconds", kDefault);
  std::string manager = field_manager(call, *options);
  admission::Review review = review_of(call, admission::Operation::kCreate, options->dry_run,
                                       options->document);
  review.object = schema::track_update(nullptr, std::move(*request), *call.subresource->schema,
                                       {.manager = manager,
                                        .api_version = "authentication.k8s.io/v1",
                                        .subresource = call.info.subresource,
                                        .now = call.started.text()});
  Result<void> admitted = co_await call.services.admission.mutate(review);
  if (!admitted) co_return fail(admitted.error());
  if (auto ok = prepare(call, review.object); !ok) co_return fail(ok.error());
  admitted = co_await call.services.admission.validate(review);
  if (!admitted) co_return fail(admitted.error());
  for (std::string& w : review.warnings) call.warnings.push_back(std::move(w));

  Value& spec = review.object.member("spec");
  authn::ServiceAccountClaims claims{.namespace_name = call.info.namespace_name,
                                     .account = reference(review.object)};
  if (auto ok = bind(call, spec["boundObjectRef"], claims); !ok) co_return fail(ok.error());
  for (const Value& a : spec["audiences"].items()) claims.audiences.emplace_back(a.as_string());
  claims.lifetime = spec["expirationSeconds"].as_int();
  if (std::int64_t most = tokens->options().max_expiration; most > 0 && claims.lifetime > most) {
    call.warnings.push_back(cat("requested expiration of ", claims.lifetime,
                                " seconds shortened to ", most, " seconds"));
    claims.lifetime = most;
    spec.set("expirationSeconds", most);
  }
  auto issued = tokens->issue(claims);
  if (!issued) co_return fail(issued.error());
  if (call.trail)
    call.trail->annotate("authentication.kubernetes.io/issued-credential-id", "JTI=" + issued->id);
  review.object.set(
      "status",
      Value::object({{"token", issued->token},
                     {"expirationTimestamp", print_rfc3339({.seconds = issued->expires})}}));
  Answer answer = Answer::of(std::move(review.object), 201);
  answer.transforms = false;
  co_return answer;
}

}  // namespace cardea::rest
