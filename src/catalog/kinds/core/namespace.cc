#include "catalog/kinds/check.h"
#include "catalog/kinds/core/core_strategies.h"

namespace cardea::catalog {
namespace {

constexpr std::string_view kNameLabel = "kubernetes.io/metadata.name";
constexpr std::string_view kFinalizer = "kubernetes";

// Selectors find a namespace by its name through this label, so the server always sets it.
void label_with_name(Value& object) {
  std::string name(text(object["metadata"], "name"));
  if (!name.empty())
    object_member(object_member(object, "metadata"), "labels").set(kNameLabel, name);
}

void defaults(Value& object, const StrategyContext&) {
  label_with_name(object);
  default_to(object_member(object, "status"), "phase", "Active");
}

void prepare_create(Value& object, const StrategyContext&) {
  label_with_name(object);
  object.set("status", Value::object({{"phase", "Active"}}));
  Value& spec = object_member(object, "spec");
  auto finalizers = spec["finalizers"].items();
  if (std::ranges::none_of(finalizers, [](const Value& f) { return f.as_string() == kFinalizer; }))
    spec.member("finalizers").push_back(kFinalizer);
}

void prepare_update(Value& object, const Value& old, const StrategyContext& context) {
  label_with_name(object);
  keep_status(object, old, context);
  if (context.subresource != "finalize")
    object_member(object, "spec").set("finalizers", old["spec"]["finalizers"]);
}

void validate_finalizer(std::string_view name, const Path& path, FieldErrors& out) {
  validate_finalizer_name(name, path, out);
  if (name.find('/') == std::string_view::npos && name != "kubernetes" && name != "orphan" &&
      name != "foregroundDeletion")
    out.push_back(json::invalid(
        path, name, "name is neither a standard finalizer name nor is it fully qualified"));
}

FieldErrors validate(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, false, name_is_dns_label, out);
  for (const Value& f : object["spec"]["finalizers"].items())
    validate_finalizer(f.as_string(), "spec.finalizers", out);
  return out;
}

FieldErrors validate_update(const Value& object, const Value& old, const StrategyContext& context) {
  FieldErrors out;
  // Kubernetes checks a namespace as if it were new, and then its metadata as changed. /finalize
  // has its own check only.
  if (context.subresource == "finalize") {
    validate_kind_meta_update(object, old, out);
    each(object["spec"], "finalizers", "spec",
         [&](const Value& f, const Path& at) { validate_finalizer(f.as_string(), at, out); });
    return out;
  }
  out = validate(object, context);
  validate_kind_meta_update(object, old, out);
  return out;
}

FieldErrors validate_status(const Value& object, const Value& old, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  std::string_view phase = text(object["status"], "phase");
  bool deleting = present(object["metadata"], "deletionTimestamp");
  if (!deleting && phase != "Active")
    out.push_back(json::invalid("status.Phase", phase,
                                "may only be 'Active' if `deletionTimestamp` is empty"));
  if (deleting && phase != "Terminating")
    out.push_back(json::invalid("status.Phase", phase,
                                "may only be 'Terminating' if `deletionTimestamp` is not empty"));
  return out;
}

std::string field(const Value& object, std::string_view name) {
  return name == "status.phase" ? std::string(text(object["status"], "phase")) : "";
}

// A namespace ends when its content is gone; until then it only shows that it is terminating.
void prepare_delete(Value& object, const StrategyContext& context) {
  Value& meta = object.member("metadata");
  if (!meta.has("deletionTimestamp")) meta.set("deletionTimestamp", context.now);
  object.member("status").set("phase", "Terminating");
}

}  // namespace

const Strategy& namespace_strategy() {
  static const Strategy strategy{
      .defaults = defaults,
      .prepare_for_create = prepare_create,
      .prepare_for_update = prepare_update,
      .validate_create = validate,
      .validate_update = validate_update,
      .prepare_for_status_update = keep_spec,
      .validate_status_update = validate_status,
      .selectable_fields = {"status.phase"},
      .selectable_field = field,
      .unknown_field = "field label not supported: {}",
      .name_rule = Strategy::NameRule::kDnsLabel,
      .prepare_for_delete = prepare_delete,
  };
  return strategy;
}

}  // namespace cardea::catalog
