#include "base/strings.h"
#include "json/field_error.h"
#include "rest/present/status.h"
#include "rest/verbs/body.h"
#include "rest/verbs/request_match.h"
#include "rest/verbs/verbs.h"
#include "rest/write/blind_caller.h"
#include "rest/write/field_permissions.h"
#include "rest/write/write.h"

namespace cardea::rest {

using json::Value;

Result<void> check_name(const Call& call, const Value& object) {
  std::string_view name = object["metadata"]["name"].as_string();
  if (name.empty())
    return fail(bad_request(cat("the name of the object (", call.info.name,
                                " based on URL) was undeterminable: name must be provided")));
  if (name != call.info.name)
    return fail(bad_request(cat("the name of the object (", name,
                                ") does not match the name on the URL (", call.info.name, ")")));
  return {};
}

Result<void> check_revision(const Call& call, const Value& object, const Value& current) {
  const catalog::Resource& r = *call.resource;
  std::string_view given = object["metadata"]["resourceVersion"].as_string();
  if (given.empty() || given == "0") {
    bool needed = r.is_custom || !r.strategy->allow_unconditional_update;
    if (!needed) return {};
    return fail(json::invalid_object(
        r.group, r.name, call.info.name,
        {json::invalid("metadata.resourceVersion", 0, "must be specified for an update")}));
  }
  if (auto revision = parse_revision(given); !revision) return fail(revision.error());
  if (given != current["metadata"]["resourceVersion"].as_string())
    return fail(modified_conflict(r, call.info.name));
  return {};
}

Task<Result<Answer>> update(Call& call) {
  auto options = write_options(call.info.query, "UpdateOptions");
  if (!options) co_return fail(options.error());
  auto object = read_object(call, Expected::object_of(call), options->field_validation);
  if (!object) co_return fail(object.error());
  if (auto ok = check_name(call, *object); !ok) co_return fail(ok.error());
  if (auto ok = check_namespace(call, *object); !ok) co_return fail(ok.error());

  if (may_be_blind(call)) {
    bool blind = co_await is_blind(call);
    if (blind) call.open.sight.named = schema::named_by_update(*object, *call.resource->schema);
  }
  Change change;
  change.options = *options;
  change.checks_uid = true;
  change.is_unconditional = (*object)["metadata"]["resourceVersion"].as_string().empty();
  change.apply = [&call, new_object = *object](const Value& current) -> Result<Value> {
    if (auto ok = check_revision(call, new_object, current); !ok) return fail(ok.error());
    return new_object;
  };
  if (call.resource->strategy->allow_create_on_update && !call.subresource)
    change.make = [&call, new_object = *object,
                   validation = options->field_validation]() -> Result<Value> {
      // What was sent counts when the fields of a new object do, and that is known only now.
      if (sent_object(call) && !call.open.fields().sent.is_there())
        if (auto again = read_object(call, Expected::object_of(call), validation); !again)
          return again;
      return new_object;
    };
  Result<Written> written = co_await write_change(call, std::move(change));
  if (!written) co_return fail(written.error());
  co_return Answer::of(std::move(written->object), written->created ? 201 : 200);
}

}  // namespace cardea::rest
