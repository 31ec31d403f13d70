#include "base/strings.h"
#include "rest/present/status.h"
#include "rest/verbs/body.h"
#include "rest/verbs/request_match.h"
#include "rest/verbs/verbs.h"
#include "rest/write/blind_caller.h"
#include "rest/write/write.h"

namespace cardea::rest {

using json::Value;

Result<void> check_namespace(const Call& call, Value& object) {
  if (!call.resource->namespaced) return {};
  std::string_view given = object["metadata"]["namespace"].as_string();
  if (!given.empty() && given != call.info.namespace_name)
    return fail(bad_request(
        "the namespace of the provided object does not match the namespace sent on the request"));
  object.member("metadata").set("namespace", call.info.namespace_name);
  return {};
}

Task<Result<Answer>> create(Call& call) {
  auto options = write_options(call.info.query, "CreateOptions");
  if (!options) co_return fail(options.error());
  auto object = read_object(call, Expected::object_of(call), options->field_validation);
  if (!object) co_return fail(object.error());
  if (auto ok = check_namespace(call, *object); !ok) co_return fail(ok.error());
  options->brings_revision = !(*object)["metadata"]["resourceVersion"].as_string().empty();
  if (may_be_blind(call)) {
    bool blind = co_await is_blind(call);
    if (blind) call.open.sight.named = schema::named_by_update(*object, *call.resource->schema);
  }
  Result<Written> written = co_await write_new(call, std::move(*object), *options);
  if (!written) co_return fail(written.error());
  co_return Answer::of(std::move(written->object), 201);
}

}  // namespace cardea::rest
