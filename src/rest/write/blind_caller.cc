#include "rest/write/blind_caller.h"

#include <algorithm>

#include "authz/eligibility.h"
#include "base/strings.h"
#include "json/members.h"
#include "rest/asking.h"
#include "rest/present/status.h"
#include "rest/write/field_permissions.h"

namespace cardea::rest {

using json::Value;

namespace {

// The whole verb includes reading, unless reading is denied. Other permissions do not, unless
// reading is allowed.
bool reads_with(const Call& call, const authz::Decision& decision) {
  const bool is_whole = (call.info.verb == "update" || call.info.verb == "patch") &&
                        !call.open.is_granular() && !call.open.is_conditional();
  return is_whole ? decision.kind != authz::Decision::Kind::kDeny : decision.allowed();
}

Task<bool> is_allowed(Call& call, authz::Attributes attributes) {
  std::optional<authz::Chain::Verdict> verdict = call.chain->decide(attributes);
  if (!verdict) {
    authz::Chain::Verdict waited = co_await ask_chain(call, call.chain, attributes);
    verdict = std::move(waited);
  }
  co_return reads_with(call, verdict->decision);
}

// The object itself shows everything. Its status and the like show it too, a scale shows itself.
Task<bool> may_read(Call& call) {
  authz::Attributes attributes{call.user, call.info};
  attributes.verb = call.info.verb == "deletecollection" ? "list" : "get";
  attributes.selectors = nullptr;
  attributes.subresource = {};
  bool reads = co_await is_allowed(call, attributes);
  if (reads || !call.subresource ||
      std::ranges::find(call.subresource->verbs, "get") == call.subresource->verbs.end())
    co_return reads;
  attributes.subresource = call.info.subresource;
  reads = co_await is_allowed(call, attributes);
  co_return reads;
}

Error without_reason(const Call& call, Error error) {
  if (call.open.has_refused() || call.open.sight.is_refusal_plain) return error;
  const catalog::Resource& r = *call.resource;
  // The error that an object of this name does not exist; messages of other parts may quote the
  // object.
  if (error.reason == Reason::kNotFound && error.message == not_found(r, call.info.name).message)
    return error;
  const int retry_after = error.details ? error.details->retry_after_seconds : 0;
  error.message = cat(r.qualified_name(), " ", quoted(call.info.name),
                      ": the server cannot do this to the object; it tells the reason only to "
                      "callers with the verb \"get\"");
  return std::move(error).with({.name = call.info.name,
                                .group = r.group,
                                .kind = r.kind,
                                .retry_after_seconds = retry_after});
}

// Identity, and what came with the request.
Value identity_and_sent(const Call& call, const Value& object) {
  const Value& sent = call.open.sight.named.sent;
  Value meta = Value::object();
  for (auto key : {"name", "namespace", "uid", "resourceVersion"})
    if (const Value* v = object["metadata"].find(key)) meta.set(key, *v);
  for (auto key : {"labels", "annotations", "finalizers", "ownerReferences"})
    if (const Value* v = sent["metadata"].find(key)) meta.set(key, *v);
  Value out = Value::object({{"kind", object["kind"]},
                             {"apiVersion", object["apiVersion"]},
                             {"metadata", std::move(meta)}});
  json::add_missing(out, sent);
  return out;
}

}  // namespace

bool may_be_blind(const Call& call) {
  const std::string& verb = call.info.verb;
  if (authz::is_connection(authz::Attributes{call.user, call.info})) return false;  // shows none
  if (call.open.is_acting_open()) return true;
  if (verb == "delete" || verb == "deletecollection") return true;
  if (verb == "create") {
    if (call.info.subresource == "eviction") return true;
    const bool is_part = !call.info.subresource.empty() || call.info.resource == "bindings";
    return is_part ? call.open.is_conditional() : call.open.is_granular();
  }
  if (verb != "update" && verb != "patch") return false;
  return call.open.is_granular() || call.open.is_conditional() || call.chain->may_deny();
}

bool is_known_blind(const Call& call) {
  return call.open.is_acting_open() || (call.open.sight.reads == false && may_be_blind(call));
}

Task<bool> is_blind(Call& call) {
  if (!may_be_blind(call)) co_return false;
  if (call.open.is_acting_open()) co_return true;
  if (!call.open.sight.reads) {
    bool reads = co_await may_read(call);
    call.open.sight.reads = reads;
  }
  co_return !*call.open.sight.reads;
}

namespace {

constexpr std::string_view kNeedsGet = "this needs the verb \"get\"";
constexpr std::string_view kActingIsNotReading =
    "acting for another user under conditions on the object does not include "
    "reading it";

Error refused_to_read(Call& call, std::string_view what, std::string_view needed) {
  std::string reason = cat(what, ": ", needed);
  note_refusal(call, reason);
  return authz::forbidden(authz::Attributes{call.user, call.info}, reason);
}

}  // namespace

Task<Result<void>> judge_blindly(Call& call) {
  bool blind = co_await is_blind(call);
  if (!blind) co_return Result<void>();
  const std::string_view needed = call.open.is_acting_open() ? kActingIsNotReading : kNeedsGet;
  if (call.open.sight.named.reads_object)
    co_return fail(refused_to_read(
        call, "the operations `test`, `copy` and `move` of a JSON patch read the object", needed));
  if (call.open.sight.named.is_json_patch && names_ignored_fields(call))
    co_return fail(
        refused_to_read(call, "a JSON patch that names fields it cannot write reads them", needed));
  if (!call.open.is_granular()) co_return Result<void>();
  // A webhook may turn a field that is named into others: whether those change tells what is
  // stored.
  if (call.resource->is_converted_by_webhook &&
      call.catalog->storage_of(*call.resource) != call.resource)
    co_return fail(refused_to_read(
        call, "a write through a version that a webhook converts reads the object", needed));
  Result<void> covered = co_await authorize_named(call);
  co_return covered;
}

bool tells_of_object(const Call& call, const Result<Answer>& answer) {
  if (!call.resource || !may_be_blind(call)) return false;
  if (call.open.sight.has_read && (!answer || !call.warnings.empty())) return true;
  return answer && answer->document["kind"].as_string() != "Status";
}

Result<Answer> seen_blindly(Call& call, Result<Answer> answer) {
  if (call.open.sight.has_read) call.warnings.clear();
  if (!answer) {
    if (!call.open.sight.has_read) return answer;
    return fail(without_reason(call, std::move(answer.error())));
  }
  const Value& document = answer->document;
  const bool is_part = call.info.verb == "create" &&
                       (!call.info.subresource.empty() || call.info.resource == "bindings");
  if (is_part || document["kind"].as_string() == "Status") return answer;
  Answer out = Answer::of(Value(), answer->status);
  if (call.info.verb == "delete" || call.info.verb == "deletecollection") {
    out.document = success_document(*call.resource, call.info.name,
                                    document["metadata"]["uid"].as_string());
    out.transforms = false;
  } else {
    out.document = identity_and_sent(call, document);
  }
  return out;
}

}  // namespace cardea::rest
