// The scale subresource: a small view of a workload, read and written through the object.
#include "catalog/scale.h"

#include "base/strings.h"
#include "json/field_error.h"
#include "json/patch.h"
#include "rest/present/status.h"
#include "rest/verbs/body.h"
#include "rest/verbs/request_match.h"
#include "rest/verbs/subresources.h"
#include "rest/verbs/verbs.h"
#include "rest/write/blind_caller.h"
#include "rest/write/write.h"
#include "schema/ownership/strategic_merge.h"
#include "schema/wire/decode.h"

namespace cardea::rest {

using json::Value;

namespace {

Result<void> check_scale(const Call& call, const Value& scale) {
  if (call.resource->is_custom) return {};
  if (const Value& replicas = scale["spec"]["replicas"]; replicas.as_int() < 0)
    return fail(json::invalid_object(
        "autoscaling", "Scale", scale["metadata"]["name"].as_string(),
        {json::invalid("spec.replicas", replicas, "must be greater than or equal to 0")}));
  return {};
}

Result<Value> scaled(const Call& call, const Value& current, const Value& scale) {
  if (auto ok = check_scale(call, scale); !ok) return fail(ok.error());
  std::string_view version = scale["metadata"]["resourceVersion"].as_string();
  if (!version.empty() && version != current["metadata"]["resourceVersion"].as_string())
    return fail(modified_conflict(*call.resource, call.info.name));
  return catalog::with_scale(current, scale, *call.resource);
}

Task<Result<Answer>> write_scale(Call& call, Change change) {
  change.kind = WriteKind::kPart;
  change.is_unconditional = true;
  change.shows = [&call](const Value& object) -> Result<Value> {
    return catalog::scale_to_change(object, *call.resource);
  };
  change.takes = [&call](const Value& object, const Value& scale) {
    return scaled(call, object, scale);
  };
  Result<Written> written = co_await write_change(call, std::move(change));
  if (!written) co_return fail(written.error());
  auto scale = catalog::scale_of(written->object, *call.resource);
  if (!scale) co_return fail(scale.error());
  co_return Answer::of(std::move(*scale));
}

Task<Result<Answer>> put_scale(Call& call) {
  auto options = write_options(call.info.query, "UpdateOptions");
  if (!options) co_return fail(options.error());
  auto scale = read_object(call, Expected::body_of(call), options->field_validation);
  if (!scale) co_return fail(scale.error());
  if (auto ok = check_name(call, *scale); !ok) co_return fail(ok.error());
  if (auto ok = check_namespace(call, *scale); !ok) co_return fail(ok.error());
  if (may_be_blind(call)) {
    bool blind = co_await is_blind(call);
    if (blind) call.open.sight.named = schema::named_by_update(*scale, *call.subresource->schema);
  }
  Change change;
  change.options = *options;
  change.apply = [&call, scale = *scale](const Value& current) {
    return scaled(call, current, scale);
  };
  Result<Answer> answer = co_await write_scale(call, std::move(change));
  co_return answer;
}

Result<Value> patched_scale(Call& call, PatchType type, const Value& view, const Value& patch) {
  switch (type) {
    case PatchType::kJson:
      return json::apply_json_patch(view, patch, missing_for(call));
    case PatchType::kStrategicMerge:
      return schema::apply_strategic_merge_patch(view, patch, *call.subresource->schema);
    default:
      return json::apply_merge_patch(view, patch);
  }
}

// Owners of a scale are named by the version of the Scale, not of the object it shows.
Error as_scale_conflict(Error error, const std::string& api_version) {
  if (error.reason != Reason::kConflict || !error.details) return error;
  std::string object = cat(" using ", api_version);
  auto renamed = [&](std::string text) {
    constexpr std::string_view kOwner = "with subresource \"scale\"";
    for (auto at = text.find(kOwner); at != std::string::npos; at = text.find(kOwner, at + 1))
      if (text.compare(at + kOwner.size(), object.size(), object) == 0)
        text.replace(at + kOwner.size(), object.size(), " using autoscaling/v1");
    return text;
  };
  ErrorDetails details = *error.details;
  for (Cause& c : details.causes) c.message = renamed(c.message);
  error.message = renamed(error.message);
  return std::move(error).with(std::move(details));
}

// Applying a Scale is applying the one field of the object that it shows.
Task<Result<Answer>> apply_scale(Call& call, Value scale, WriteOptions options) {
  const catalog::Resource& r = *call.resource;
  Value skeleton = Value::object({{"apiVersion", r.api_version()},
                                  {"kind", r.kind},
                                  {"metadata", Value::object({{"name", call.info.name}})}});
  auto config = catalog::with_scale(skeleton, scale, r);
  if (!config) co_return fail(config.error());
  config->member("metadata").erase("resourceVersion");
  Change change;
  change.options = options;
  change.apply = [&call, scale, config = *config, options](const Value& current) -> Result<Value> {
    if (auto ok = check_scale(call, scale); !ok) return fail(ok.error());
    auto applied = apply_to(call, &current, config, options);
    if (applied) return applied;
    return fail(as_scale_conflict(applied.error(), call.resource->api_version()));
  };
  Result<Answer> answer = co_await write_scale(call, std::move(change));
  co_return answer;
}

Task<Result<Answer>> patch_scale(Call& call) {
  auto type = patch_type(call.request().headers.get("content-type"), !call.resource->is_custom);
  if (!type) co_return fail(type.error());
  auto options = write_options(call.info.query, "PatchOptions", *type == PatchType::kApply);
  if (!options) co_return fail(options.error());
  auto patch = read_patch(call, *type);
  if (!patch) co_return fail(patch.error());
  if (may_be_blind(call)) {
    bool blind = co_await is_blind(call);
    if (blind) call.open.sight.named = named_by(*type, *patch, *call.subresource->schema);
  }
  if (*type == PatchType::kApply) {
    Result<Answer> applied = co_await apply_scale(call, std::move(*patch), *options);
    co_return applied;
  }
  Change change;
  change.options = *options;
  change.apply = [&call, type = *type, patch = *patch,
                  validation = options->field_validation](const Value& current) -> Result<Value> {
    auto raw = patched_scale(call, type, catalog::scale_to_change(current, *call.resource), patch);
    if (!raw) return raw;
    auto scale = check_object(Expected::body_of(call), *raw, validation, call.warnings);
    if (!scale) return scale;
    if (auto ok = check_name(call, *scale); !ok) return fail(ok.error());
    return scaled(call, current, *scale);
  };
  Result<Answer> answer = co_await write_scale(call, std::move(change));
  co_return answer;
}

}  // namespace

Task<Result<Answer>> serve_scale(Call& call) {
  if (call.info.verb == "update") {
    Result<Answer> answer = co_await put_scale(call);
    co_return answer;
  }
  if (call.info.verb == "patch") {
    Result<Answer> answer = co_await patch_scale(call);
    co_return answer;
  }
  Result<Value> object = Value();
  if (call.resource->is_converted_by_webhook)
    object = co_await read_current_by_webhook(call);
  else
    object = read_current(call);
  if (!object) co_return fail(object.error());
  auto scale = catalog::scale_of(*object, *call.resource);
  if (!scale) co_return fail(scale.error());
  co_return Answer::of(std::move(*scale));
}

}  // namespace cardea::rest
