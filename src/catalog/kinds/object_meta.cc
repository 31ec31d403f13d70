#include "catalog/kinds/object_meta.h"

#include <algorithm>

#include "base/strings.h"
#include "catalog/kinds/check.h"
#include "json/print.h"

namespace cardea::catalog {
namespace {

using json::FieldErrors;
using json::Value;

constexpr std::size_t kAnnotationBytes = 256 * 1024;
constexpr std::string_view kStandardFinalizers[] = {"kubernetes", "orphan", "foregroundDeletion"};

std::string show_owner(const Value& owner) {
  Value all = owner;
  for (const char* key : {"apiVersion", "kind", "name", "uid"})
    if (!all.has(key)) all.set(key, "");
  return print_in_order(all,
                        {"apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"});
}

std::string show_owners(const Value& owners) {
  std::vector<std::string> parts;
  for (const Value& owner : owners.items()) parts.push_back(show_owner(owner));
  return cat("[", join(parts, ","), "]");
}

void validate_owner(const Value& owner, const Path& path, FieldErrors& out) {
  std::string_view api_version = owner["apiVersion"].as_string();
  std::string_view version = api_version.substr(api_version.find('/') + 1);  // npos + 1 is the
                                                                             // start
  if (version.empty() || std::ranges::count(api_version, '/') > 1)
    out.push_back(json::invalid(path / "apiVersion", api_version, "version must not be empty"));
  for (const char* key : {"kind", "name", "uid"})
    if (owner[key].as_string().empty())
      out.push_back(json::invalid(path / key, "", "must not be empty"));
  // Events are deleted after a while; the objects that they owned would be deleted too.
  if (api_version == "v1" && owner["kind"].as_string() == "Event")
    out.push_back(
        json::shown_as(json::invalid(path, {}, "/v1, Kind=Event is disallowed from being an owner"),
                       show_owner(owner)));
}

void validate_owners(const Value& owners, const Path& path, FieldErrors& out) {
  std::string controller;
  for (const Value& owner : owners.items()) {
    validate_owner(owner, path, out);
    if (!owner["controller"].as_bool()) continue;
    std::string name = cat(owner["kind"].as_string(), "/", owner["name"].as_string());
    if (controller.empty())
      controller = name;
    else
      out.push_back(json::shown_as(json::invalid(path, {},
                                                 cat("Only one reference can have Controller set "
                                                     "to true. Found \"true\" in references for ",
                                                     controller, " and ", name)),
                                   show_owners(owners)));
  }
}

void validate_finalizers(const Value& finalizers, const Path& path, FieldErrors& out) {
  bool orphan = false, foreground = false;
  for (const Value& finalizer : finalizers.items()) {
    validate_finalizer_name(finalizer.as_string(), path, out);
    orphan |= finalizer.as_string() == "orphan";
    foreground |= finalizer.as_string() == "foregroundDeletion";
  }
  if (orphan && foreground)
    out.push_back(json::invalid(path, finalizers,
                                "finalizer orphan and foregroundDeletion cannot be both set"));
}

void validate_no_new_finalizers(const Value& now, const Value& old, const Path& path,
                                FieldErrors& out) {
  std::vector<std::string> added;
  for (const Value& f : now.items())
    if (std::ranges::find(old.items(), f) == old.items().end())
      added.push_back(quoted(f.as_string()));
  if (added.empty()) return;
  std::ranges::sort(added);
  added.erase(std::ranges::unique(added).begin(), added.end());
  out.push_back(json::forbidden(path, cat("no new finalizers can be added if the object is being "
                                          "deleted, found new finalizers []string{",
                                          join(added, ", "), "}")));
}

void validate_standard_finalizers(const Value& meta, FieldErrors& out) {
  auto finalizers = meta["finalizers"].items();
  for (std::size_t i = 0; i < finalizers.size(); ++i) {
    std::string_view name = finalizers[i].as_string();
    if (name.find('/') == std::string_view::npos &&
        std::ranges::find(kStandardFinalizers, name) == std::end(kStandardFinalizers))
      out.push_back(
          json::invalid(Path("metadata.finalizers").index(i), name,
                        "name is neither a standard finalizer name nor is it fully qualified"));
  }
}

// For a Go type that holds text by value, an absent text and "" are the same.
bool same_text(const Value& a, const Value& b) {
  return a.as_string() == b.as_string();
}

}  // namespace

void validate_nonnegative(const Value& value, const Path& path, FieldErrors& out) {
  if (value.is_number() && value.as_int() < 0)
    out.push_back(json::invalid(path, value, std::string(kMustNotBeNegative)));
}

void validate_immutable(const Value& value, const Value& old, const Path& path, FieldErrors& out) {
  if (value != old) out.push_back(json::invalid(path, value, std::string(kFieldIsImmutable)));
}

void validate_labels(const Value& labels, const Path& path, FieldErrors& out) {
  for (const json::Member& label : labels.members()) {
    complain(path, label.key(), qualified_name(label.key()), out);
    complain(path, label.value.as_string(), label_value(label.value.as_string()), out);
  }
}

void validate_annotations(const Value& annotations, const Path& path, FieldErrors& out) {
  std::size_t bytes = 0;
  for (const json::Member& a : annotations.members()) {
    complain(path, a.key(), qualified_name(lower(a.key())), out);
    bytes += a.key().size() + a.value.as_string().size();
  }
  if (bytes > kAnnotationBytes) out.push_back(json::too_long(path, kAnnotationBytes));
}

void validate_finalizer_name(std::string_view name, const Path& path, FieldErrors& out) {
  complain(path, name, qualified_name(name), out);
}

void validate_object_meta(const Value& meta, bool namespaced, NameCheck check, const Path& path,
                          FieldErrors& out) {
  std::string_view generate_name = meta["generateName"].as_string();
  std::string_view name = meta["name"].as_string();
  std::string_view ns = meta["namespace"].as_string();
  if (!generate_name.empty())
    complain(path / "generateName", generate_name, check(generate_name, true), out);
  if (name.empty())
    out.push_back(json::required(path / "name", "name or generateName is required"));
  else
    complain(path / "name", name, check(name, false), out);

  if (!namespaced && !ns.empty())
    out.push_back(json::forbidden(path / "namespace", "not allowed on this type"));
  if (namespaced && ns.empty()) out.push_back(json::required(path / "namespace"));
  if (namespaced && !ns.empty())
    complain(path / "namespace", ns, name_is_dns_label(ns, false), out);

  validate_nonnegative(meta["generation"], path / "generation", out);
  validate_labels(meta["labels"], path / "labels", out);
  validate_annotations(meta["annotations"], path / "annotations", out);
  validate_owners(meta["ownerReferences"], path / "ownerReferences", out);
  validate_finalizers(meta["finalizers"], path / "finalizers", out);
}

void validate_object_meta_update(const Value& meta, const Value& old, const Path& path,
                                 FieldErrors& out) {
  if (!old["deletionTimestamp"].is_null())
    validate_no_new_finalizers(meta["finalizers"], old["finalizers"], path / "finalizers", out);
  if (meta["generation"].as_int() < old["generation"].as_int())
    out.push_back(
        json::invalid(path / "generation", meta["generation"].as_int(), "must not be decremented"));
  for (const char* key : {"name", "namespace", "uid"})
    if (!same_text(meta[key], old[key]))
      out.push_back(
          json::invalid(path / key, meta[key].as_string(), std::string(kFieldIsImmutable)));
  // The caller restores fields of the server that a client left out or removed.
  for (const char* key : {"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"})
    if (!meta[key].is_null()) validate_immutable(meta[key], old[key], path / key, out);
  validate_labels(meta["labels"], path / "labels", out);
  validate_annotations(meta["annotations"], path / "annotations", out);
  validate_owners(meta["ownerReferences"], path / "ownerReferences", out);
}

void validate_kind_meta(const Value& object, bool namespaced, NameCheck name, FieldErrors& out) {
  validate_object_meta(object["metadata"], namespaced, name, "metadata", out);
  validate_standard_finalizers(object["metadata"], out);
}

void validate_kind_meta_update(const Value& object, const Value& old, FieldErrors& out) {
  validate_object_meta_update(object["metadata"], old["metadata"], "metadata", out);
  validate_standard_finalizers(object["metadata"], out);
}

std::string print_in_order(const Value& object, std::initializer_list<std::string_view> order) {
  std::string out = "{";
  auto add = [&out](std::string_view key, const Value& value) {
    if (out.size() > 1) out += ',';
    json::print_string_to(out, key);
    out += ':';
    json::print_to(out, value);
  };
  for (std::string_view key : order)
    if (const Value* value = object.find(key)) add(key, *value);
  for (const json::Member& m : object.members())
    if (std::ranges::find(order, m.key()) == order.end()) add(m.key(), m.value);
  return out + "}";
}

}  // namespace cardea::catalog
