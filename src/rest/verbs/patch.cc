#include "json/patch.h"

#include "base/strings.h"
#include "json/field_error.h"
#include "json/print.h"
#include "json/yaml.h"
#include "rest/audit_trail.h"
#include "rest/present/status.h"
#include "rest/verbs/body.h"
#include "rest/verbs/request_match.h"
#include "rest/verbs/verbs.h"
#include "rest/write/blind_caller.h"
#include "rest/write/field_permissions.h"
#include "rest/write/ownership.h"
#include "rest/write/write.h"
#include "schema/ownership/apply.h"
#include "schema/ownership/strategic_merge.h"

namespace cardea::rest {

using json::Value;

Result<Value> read_patch(Call& call, PatchType type) {
  http::Request& request = call.request();
  if (request.body_too_large) return fail(body_too_large());
  if (type == PatchType::kApply) {
    auto document = json::parse_yaml(request.body, kMaxBody);
    if (!document)
      return fail(bad_request(
          cat("error decoding YAML: error converting YAML to JSON: ", document.error().message)));
    auto mode = call.info.query.first("fieldValidation").value_or("Warn");
    if (mode == "Strict" && !document->duplicate_lines.empty())
      return fail(bad_request(cat(
          "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  ",
          join(document->duplicate_lines, "\n  "))));
    if (mode != "Ignore")
      for (const std::string& line : document->duplicate_lines) call.warnings.push_back(line);
    if (call.trail) call.trail->sent_patch(document->value, request.body.size());
    return std::move(document->value);
  }
  auto value = json::parse(request.body);
  if (!value)
    return fail(bad_request(cat(type == PatchType::kStrategicMerge ? "" : "error decoding patch: ",
                                value.error().message)));
  if (call.trail) call.trail->sent_patch(*value, request.body.size());
  return value;
}

schema::NamedFields named_by(PatchType type, const Value& patch, const schema::Schema& schema) {
  switch (type) {
    case PatchType::kJson:
      return schema::named_by_json_patch(patch, schema);
    case PatchType::kMerge:
      return schema::named_by_merge_patch(patch, schema);
    case PatchType::kStrategicMerge:
      return schema::named_by_strategic_merge_patch(patch, schema);
    case PatchType::kApply:
      break;
  }
  return schema::named_by_apply(patch, schema);
}

Result<Value> apply_to(Call& call, const Value* live, const Value& config,
                       const WriteOptions& options) {
  const catalog::Resource& r = *call.resource;
  schema::FieldSet reset = reset_fields(call);
  std::string version = r.api_version();
  auto merged = schema::apply(
      live, config, *r.schema,
      {.manager = options.field_manager,
       .force = options.force,
       .api_version = version,
       .kind = r.kind,
       .subresource = call.info.subresource,
       .now = call.info.subresource == "scale" ? std::string_view() : call.started.text(),
       .reset_fields = &reset,
       .schema_of = version_schemas(call),
       .view_of = version_views(call),
       .owners_decide = is_known_blind(call)});
  if (!merged) return merged;
  merged->member("metadata").set("name", call.info.name);
  auto object = check_object(Expected::object_of(call), *merged, options.field_validation,
                             call.warnings, live ? nullptr : sent_object(call));
  if (!object) return object;
  if (auto ok = check_namespace(call, *object); !ok) return fail(ok.error());
  return object;
}

namespace {

Result<Value> patched(const Call& call, PatchType type, const Value& current, const Value& patch) {
  const catalog::Resource& r = *call.resource;
  switch (type) {
    case PatchType::kJson:
      return json::apply_json_patch(current, patch, missing_for(call));
    case PatchType::kMerge:
      return json::apply_merge_patch(current, patch);
    case PatchType::kStrategicMerge: {
      auto merged = schema::apply_strategic_merge_patch(current, patch, *r.schema);
      // The type is known; a patch that deletes or replaces everything cannot take it away.
      for (std::string_view key : {"kind", "apiVersion"})
        if (merged && !merged->has(key)) merged->set(key, current[key]);
      return merged;
    }
    case PatchType::kApply:
      break;
  }
  return fail(internal_error("not a plain patch"));
}

// A patch that makes something the type cannot hold is the client's 422, with the whole object
// quoted.
Error unfit(const Value& object, std::string_view why) {
  return json::invalid_object("", "", "",
                              {json::invalid("patch", json::print(object), std::string(why))});
}

Task<Result<Answer>> apply_config(Call& call, Value config, WriteOptions options) {
  std::string_view name = config["metadata"]["name"].as_string();
  if (config.is_object() && !name.empty() && name != call.info.name)
    co_return fail(bad_request(cat("the name of the object (", name,
                                   ") does not match the name on the URL (", call.info.name, ")")));
  Change change;
  change.options = options;
  change.is_unconditional = true;
  change.apply = [&call, config, options](const Value& current) -> Result<Value> {
    if (std::string_view version = config["metadata"]["resourceVersion"].as_string();
        !version.empty() && version != current["metadata"]["resourceVersion"].as_string())
      return fail(modified_conflict(*call.resource, call.info.name));
    return apply_to(call, &current, config, options);
  };
  if (!call.subresource)
    change.make = [&call, config, options]() -> Result<Value> {
      // Meant for one certain object, which is not there any more.
      if (std::string_view uid = config["metadata"]["uid"].as_string(); !uid.empty())
        return fail(conflict(*call.resource, call.info.name,
                             cat("uid mismatch: the provided object specified uid ", uid,
                                 ", and no existing object was found")));
      return apply_to(call, nullptr, config, options);
    };
  Result<Written> written = co_await write_change(call, std::move(change));
  if (!written) co_return fail(written.error());
  co_return Answer::of(std::move(written->object), written->created ? 201 : 200);
}

}  // namespace

Task<Result<Answer>> patch(Call& call) {
  auto type = patch_type(call.request().headers.get("content-type"), !call.resource->is_custom);
  if (!type) co_return fail(type.error());
  auto options = write_options(call.info.query, "PatchOptions", *type == PatchType::kApply);
  if (!options) co_return fail(options.error());
  auto body = read_patch(call, *type);
  if (!body) co_return fail(body.error());
  if (may_be_blind(call)) {
    bool blind = co_await is_blind(call);
    if (blind) call.open.sight.named = named_by(*type, *body, *call.resource->schema);
  }

  if (*type == PatchType::kApply) {
    Result<Answer> applied = co_await apply_config(call, std::move(*body), *options);
    co_return applied;
  }
  Change change;
  change.options = *options;
  change.is_unconditional = true;
  change.apply = [&call, type = *type, body = *body,
                  validation = options->field_validation](const Value& current) -> Result<Value> {
    auto raw = patched(call, type, current, body);
    if (!raw) return fail(raw.error());
    if (!(*raw)["metadata"].is_object())
      return fail(bad_request(cat("the name of the object (", call.info.name,
                                  " based on URL) was undeterminable: name must be provided")));
    if ((*raw)["kind"].as_string() != call.resource->kind ||
        (*raw)["apiVersion"].as_string() != call.resource->api_version())
      return fail(unfit(*raw, cat("the patched object is a ", (*raw)["kind"].as_string(), " of ",
                                  (*raw)["apiVersion"].as_string())));
    auto object = check_object(Expected::object_of(call), *raw, validation, call.warnings);
    if (!object) return fail(unfit(*raw, object.error().message));
    if (auto ok = check_name(call, *object); !ok) return fail(ok.error());
    if (auto ok = check_namespace(call, *object); !ok) return fail(ok.error());
    if (auto ok = check_revision(call, *object, current); !ok) return fail(ok.error());
    return object;
  };
  Result<Written> written = co_await write_change(call, std::move(change));
  if (!written) co_return fail(written.error());
  co_return Answer::of(std::move(written->object), written->created ? 201 : 200);
}

}  // namespace cardea::rest
