#include "catalog/kinds/core/claims.h"

#include "catalog/kinds/check.h"
#include "catalog/kinds/core/resources.h"
#include "catalog/kinds/label_selector.h"
#include "json/print.h"

namespace cardea::catalog {
namespace {

using json::FieldErrors;
using json::Value;
using std::string_view;

void validate_data_source(const Value& source, const Path& path, FieldErrors& out) {
  require_text(source, "name", path, out);
  require_text(source, "kind", path, out);
  string_view group = text(source, "apiGroup"), kind = text(source, "kind");
  if (group.empty() && kind != "PersistentVolumeClaim")
    out.push_back(json::invalid(
        path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup"));
  if (!group.empty()) complain(path / "apiGroup", group, dns1123_subdomain(group), out);
  if (string_view ns = text(source, "namespace"); !ns.empty())
    complain(path / "namespace", ns, dns1123_label(ns), out);
}

bool same_source(const Value& a, const Value& b) {
  return a["apiGroup"] == b["apiGroup"] && text(a, "kind") == text(b, "kind") &&
         text(a, "name") == text(b, "name");
}

void validate_access_modes(const Value& spec, const Path& path, FieldErrors& out) {
  bool once_pod = false, other = false;
  for (const Value& mode : spec["accessModes"].items()) {
    std::size_t before = out.size();
    check_one_of(path, mode.as_string(),
                 {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"}, out);
    if (mode.as_string() == "ReadWriteOncePod")
      once_pod = true;
    else if (out.size() == before)
      other = true;
  }
  if (once_pod && other)
    out.push_back(json::forbidden(path, "may not use ReadWriteOncePod with other access modes"));
}

// Kubernetes prints a Go path here, and a path has no visible fields.
void add_data_source_conflict(const Path& path, const char* detail, FieldErrors& out) {
  out.push_back(json::shown_as(json::invalid(path, {}, detail), "{}"));
}

}  // namespace

void validate_claim_spec(const Value& spec, const Path& path, FieldErrors& out) {
  if (spec["accessModes"].empty())
    out.push_back(json::required(path / "accessModes", "at least 1 access mode is required"));
  validate_label_selector(spec["selector"], path / "selector", out);
  validate_access_modes(spec, path / "accessModes", out);

  Path storage_path = (path / "resources").key("storage");
  const Value& storage = spec["resources"]["requests"]["storage"];
  if (storage.is_null())
    out.push_back(json::required(storage_path));
  else if (quantity_of(storage).sign() <= 0)
    out.push_back(json::invalid(storage_path, show_quantity(storage), "must be greater than zero"));

  if (string_view name = text(spec, "storageClassName"); !name.empty())
    complain(path / "storageClassName", name, dns1123_subdomain(name), out);
  if (present(spec, "volumeMode"))
    check_one_of(path / "volumeMode", text(spec, "volumeMode"), {"Block", "Filesystem"}, out);

  const Value &source = spec["dataSource"], &ref = spec["dataSourceRef"];
  if (!source.is_null()) validate_data_source(source, path / "dataSource", out);
  if (!ref.is_null()) validate_data_source(ref, path / "dataSourceRef", out);
  if (!source.is_null() && !text(ref, "namespace").empty())
    add_data_source_conflict(path, "may not be specified when dataSourceRef.namespace is specified",
                             out);
  else if (!source.is_null() && !ref.is_null() && !same_source(source, ref))
    add_data_source_conflict(path, "must match dataSourceRef", out);
  if (string_view name = text(spec, "volumeAttributesClassName"); !name.empty())
    complain(path / "volumeAttributesClassName", name, dns1123_subdomain(name), out);
}

void validate_claim_template(const Value& claim, const Path& path, FieldErrors& out) {
  const Value& meta = claim["metadata"];
  Path meta_path = path / "metadata";
  validate_annotations(meta["annotations"], meta_path / "annotations", out);
  validate_labels(meta["labels"], meta_path / "labels", out);
  for (const char* key :
       {"name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation",
        "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences",
        "finalizers", "managedFields"}) {
    const Value& value = meta[key];
    bool zero = value.is_null() || (value.is_string() && value.as_string().empty()) ||
                (value.is_int() && value.as_int() == 0);
    if (!zero) out.push_back(json::forbidden(meta_path / key, "cannot be set"));
  }
  validate_claim_spec(claim["spec"], path / "spec", out);
}

void protect_storage(Value& object, string_view finalizer) {
  auto present_ones = object["metadata"]["finalizers"].items();
  if (std::ranges::none_of(present_ones,
                           [&](const Value& f) { return f.as_string() == finalizer; }))
    object.member("metadata").member("finalizers").push_back(finalizer);
}

void default_claim_data_source(Value& spec) {
  // The older field cannot name another namespace, so a reference to another namespace is not
  // copied to it.
  if (!text(spec["dataSourceRef"], "namespace").empty()) return;
  if (present(spec, "dataSource") && !present(spec, "dataSourceRef")) {
    spec.set("dataSourceRef", spec["dataSource"]);
  } else if (present(spec, "dataSourceRef") && !present(spec, "dataSource")) {
    Value copy = spec["dataSourceRef"];
    copy.erase("namespace");
    spec.set("dataSource", std::move(copy));
  }
}

}  // namespace cardea::catalog
