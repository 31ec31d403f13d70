// delete and deletecollection.
#include <algorithm>
#include <chrono>

#include "base/strings.h"
#include "base/time_parse.h"
#include "json/print.h"
#include "rest/audit_trail.h"
#include "rest/guards/write_guard.h"
#include "rest/present/status.h"
#include "rest/verbs/body.h"
#include "rest/verbs/options.h"
#include "rest/verbs/verbs.h"
#include "rest/write/blind_caller.h"
#include "rest/write/object_rules.h"
#include "rest/write/stored_object.h"
#include "rest/write/write.h"

namespace cardea::rest {

using catalog::Resource;
using json::Value;

namespace {

Result<DeleteOptions> read_delete_options(Call& call) {
  auto document = read_document(
      call, call.catalog->type("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"));
  if (!document) return fail(document.error());
  const Value& body = document->value;
  if (!body.is_null() && !body.is_object())
    return fail(bad_request("DeleteOptions must be an object"));
  if (std::string_view kind = body["kind"].as_string(); !kind.empty() && kind != "DeleteOptions")
    return fail(
        bad_request(cat("decoded object cannot be converted to DeleteOptions: it is a ", kind)));
  if (call.trail && !body.is_null()) {
    Value sent = body;
    sent.set("kind", "DeleteOptions");
    if (!sent.has("apiVersion")) sent.set("apiVersion", "v1");
    call.trail->sent_patch(sent, call.request().body.size());
  }
  auto options = delete_options(body, call.info.query);
  if (options && call.resource->strategy->default_propagation == "Orphan" &&
      !options->propagation_policy && !options->orphan_dependents)
    call.warnings.push_back(
        "child pods are preserved by default when jobs are deleted; set "
        "propagationPolicy=Background to remove them or set "
        "propagationPolicy=Orphan to suppress this warning");
  return options;
}

}  // namespace

Task<Result<Answer>> remove(Call& call) {
  auto options = read_delete_options(call);
  if (!options) co_return fail(options.error());
  Result<Answer> answer = co_await remove_with(call, std::move(*options), WriteKind::kDelete);
  co_return answer;
}

Task<Result<Answer>> remove_with(Call& call, DeleteOptions options, WriteKind kind) {
  Removal removal{.kind = kind,
                  .key = object_key(*call.resource, call.info.namespace_name, call.info.name),
                  .options = std::move(options)};
  Result<Value> removed = co_await write_removal(call, std::move(removal));
  if (!removed) co_return fail(removed.error());
  Answer answer = Answer::of(std::move(*removed));
  answer.transforms = answer.document["kind"].as_string() != "Status";
  co_return answer;
}

// Whether the request selects objects by their content. Their names are not secret for a caller
// that may delete them.
bool selects_by_content(const authz::RequestInfo& info) {
  if (!info.selectors) return false;
  const authz::Selectors& s = *info.selectors;
  if (!s.labels.empty() || !s.field_error.empty() || !s.label_error.empty()) return true;
  return std::ranges::any_of(s.fields.terms(), [](const auto& term) {
    return term.field != "metadata.name" && term.field != "metadata.namespace";
  });
}

// What a list of the same collection shows is what goes.
Task<Result<Answer>> remove_collection(Call& call) {
  auto options = read_delete_options(call);
  if (!options) co_return fail(options.error());
  // A condition, a precondition or admission may refuse a deletion. The refusal would reveal which
  // objects a selector found.
  if (selects_by_content(call.info)) {
    bool blind = co_await is_blind(call);
    if (blind)
      co_return fail(authz::forbidden(
          authz::Attributes{call.user, call.info},
          "selecting some of the objects reads them: this needs the verb \"list\""));
  }
  const Resource& r = *call.resource;
  View wanted = std::exchange(call.view, View{.pretty = true});  // the objects themselves, not
                                                                 // their bytes
  Result<Answer> listed = co_await list(call);
  call.view = wanted;
  if (!listed) co_return listed;
  for (const Value& object : listed->document["items"].items()) {
    const Value& meta = object["metadata"];
    Removal removal{.key = object_key(r, meta["namespace"].as_string(), meta["name"].as_string()),
                    .is_item = true,
                    .options = *options};
    Result<Value> removed = co_await write_removal(call, std::move(removal));
    if (!removed && removed.error().reason != Reason::kNotFound) co_return fail(removed.error());
  }
  co_return listed;
}

}  // namespace cardea::rest
