#include "catalog/kinds/check.h"
#include "catalog/kinds/core/volume_sources.h"
#include "catalog/kinds/go_value.h"
#include "catalog/kinds/object_meta.h"
#include "catalog/kinds/storage/storage_class.h"
#include "catalog/kinds/strategies.h"

namespace cardea::catalog {
namespace {

constexpr int kMetadataBytes = 256 * 1024;
constexpr std::size_t kLongestError = 1024;

// An inline volume of a pod: only the fields that CSI needs are allowed.
void validate_inline_volume(const Value& volume, const Path& path, FieldErrors& out) {
  for (std::string_view name :
       {"capacity", "claimRef", "persistentVolumeReclaimPolicy", "storageClassName", "volumeMode"})
    if (!is_zero(volume[name]))
      out.push_back(
          json::forbidden(path / name, "may not be specified in the context of inline volumes"));
  if (volume["csi"].is_null())
    out.push_back(
        json::required(path / "csi", "has to be specified in the context of inline volumes"));
  if (volume["accessModes"].empty()) out.push_back(json::required(path / "accessModes"));
  if (volume["csi"].is_null())
    out.push_back(json::required(path, "must specify a volume type"));
  else
    validate_persistent_csi(volume["csi"], path / "csi", out);
}

void validate_source(const Value& source, const Path& path, FieldErrors& out) {
  const Value& name = source["persistentVolumeName"];
  const Value& volume = source["inlineVolumeSpec"];
  if (name.is_null() && volume.is_null()) {
    out.push_back(json::required(
        path, "must specify exactly one of inlineVolumeSpec and persistentVolumeName"));
  } else if (!name.is_null() && !volume.is_null()) {
    out.push_back(json::forbidden(
        path, "must specify exactly one of inlineVolumeSpec and persistentVolumeName"));
  } else if (!name.is_null()) {
    if (name.as_string().empty())
      out.push_back(json::required(path / "persistentVolumeName",
                                   "must specify non empty persistentVolumeName"));
    complain(path / "persistentVolumeName", name, name_is_dns_subdomain(name.as_string(), false),
             out);
  } else {
    validate_inline_volume(volume, path / "inlineVolumeSpec", out);
  }
}

void validate_spec(const Value& spec, FieldErrors& out) {
  std::string_view attacher = spec["attacher"].as_string();
  if (attacher.empty()) {
    out.push_back(json::required("spec.attacher"));
  } else {
    validate_csi_driver_name("spec.attacher", spec["attacher"], out);
  }
  validate_source(spec["source"], "spec.source", out);
  std::string_view node = spec["nodeName"].as_string();
  complain("spec.nodeName", node, name_is_dns_subdomain(node, false), out);
}

void validate_volume_error(const Value& error, const Path& path, FieldErrors& out) {
  if (error.is_null()) return;
  if (error["message"].as_string().size() > kLongestError)
    out.push_back(json::too_long(path / "message", kMetadataBytes));
  const Value& code = error["errorCode"];
  if (!code.is_null() && (code.as_int() < 0 || code.as_int() > 2147483647))
    out.push_back(json::invalid(path / "errorCode", code, inclusive_range_error(0, 2147483647)));
}

void validate_status_fields(const Value& status, FieldErrors& out) {
  std::size_t total = 0;
  for (const json::Member& m : status["attachmentMetadata"].members())
    total += m.key().size() + m.value.as_string().size();
  if (total > static_cast<std::size_t>(kMetadataBytes))
    out.push_back(json::too_long("status.attachmentMetadata", kMetadataBytes));
  validate_volume_error(status["attachError"], "status.attachError", out);
  validate_volume_error(status["detachError"], "status.detachError", out);
}

FieldErrors validate(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, false, name_is_dns_subdomain, out);
  validate_spec(object["spec"], out);
  validate_status_fields(object["status"], out);
  return out;
}

FieldErrors validate_update(const Value& object, const Value& old, const StrategyContext& context) {
  FieldErrors out = validate(object, context);
  if (!semantically_equal(object["spec"], old["spec"])) {
    const Value& spec = object["spec"];
    const Value& volume = spec["source"]["inlineVolumeSpec"];
    Shown source = shown_struct(
        {{"PersistentVolumeName", shown(spec["source"]["persistentVolumeName"])},
         {"InlineVolumeSpec", volume.is_null() ? "null" : show_go_value(volume)}});
    out.push_back(invalid_shown("spec",
                                shown_struct({{"Attacher", shown_or(spec["attacher"], "")},
                                              {"Source", source},
                                              {"NodeName", shown_or(spec["nodeName"], "")}}),
                                kFieldIsImmutable));
  }
  return out;
}

FieldErrors validate_status(const Value& object, const Value& old, const StrategyContext& context) {
  return validate_update(object, old, context);
}

}  // namespace

const Strategy& volume_attachment_strategy() {
  static const Strategy strategy{
      .prepare_for_create = drop_status,
      .prepare_for_update = keep_status,
      .validate_create = validate,
      .validate_update = validate_update,
      .prepare_for_status_update = keep_spec,
      .validate_status_update = validate_status,
      .allow_unconditional_update = false,
      .returns_deleted_object = true,
  };
  return strategy;
}

}  // namespace cardea::catalog
