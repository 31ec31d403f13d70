#include "admission/objects.h"

#include "admission/plugin.h"
#include "base/strings.h"
#include "json/stored_depth.h"

namespace cardea::admission {
namespace {

const catalog::Resource* preferred(const catalog::Catalog& catalog, std::string_view group,
                                   std::string_view name) {
  for (const catalog::Group& g : catalog.all_groups())
    if (g.name == group)
      for (const catalog::Version& v : g.versions)
        if (const catalog::Resource* r = catalog.find(group, v.name, name)) return r;
  return nullptr;
}

std::string prefix(const catalog::Resource& r, std::string_view namespace_name) {
  return namespace_name.empty() ? r.storage_prefix : cat(r.storage_prefix, namespace_name, "/");
}

}  // namespace

json::Value parsed(const store::Record& record) {
  auto value = json::parse(record.value(), json::kMaxStoredDepth);
  return value ? std::move(*value) : json::Value();
}

std::string unreadable_text(const store::Record& record) {
  return cat("the stored record ", quoted(record.key()), " cannot be read");
}

store::RecordPtr Objects::find(const catalog::Catalog& catalog, std::string_view group,
                               std::string_view resource, std::string_view namespace_name,
                               std::string_view name) const {
  const catalog::Resource* r = preferred(catalog, group, resource);
  return r ? store_.get(cat(prefix(*r, namespace_name), name)) : nullptr;
}

json::Value Objects::get(const catalog::Catalog& catalog, std::string_view group,
                         std::string_view resource, std::string_view namespace_name,
                         std::string_view name) const {
  store::RecordPtr record = find(catalog, group, resource, namespace_name, name);
  return record ? parsed(*record) : json::Value();
}

std::vector<json::Value> Objects::list(const catalog::Catalog& catalog, std::string_view group,
                                       std::string_view resource,
                                       std::string_view namespace_name) const {
  std::vector<json::Value> objects;
  const catalog::Resource* r = preferred(catalog, group, resource);
  if (!r) return objects;
  for (const store::RecordPtr& record : records(*r, namespace_name))
    if (json::Value object = parsed(*record); object.is_object())
      objects.push_back(std::move(object));
  return objects;
}

Result<std::vector<std::pair<store::RecordPtr, json::Value>>> Objects::records(
    const catalog::Catalog& catalog, std::string_view group, std::string_view resource,
    std::string_view namespace_name) const {
  std::vector<std::pair<store::RecordPtr, json::Value>> found;
  const catalog::Resource* r = preferred(catalog, group, resource);
  if (!r) return found;
  auto range = store_.range({.keys = store::keys_with_prefix(prefix(*r, namespace_name))});
  if (!range) return fail(range.error());
  for (const store::RecordPtr& record : range->records) {
    json::Value object = parsed(*record);
    if (!object.is_object()) return fail(internal_error(unreadable_text(*record)));
    found.emplace_back(record, std::move(object));
  }
  return found;
}

store::RecordPtr Objects::find(const catalog::Resource& r, std::string_view namespace_name,
                               std::string_view name) const {
  return store_.get(cat(prefix(r, namespace_name), name));
}

std::vector<store::RecordPtr> Objects::records(const catalog::Resource& r,
                                               std::string_view namespace_name) const {
  auto range = store_.range({.keys = store::keys_with_prefix(prefix(r, namespace_name))});
  return range ? std::move(range->records) : std::vector<store::RecordPtr>();
}

Error forbidden(const Review& review, std::string_view why) {
  const catalog::Resource& r = review.resource;
  const json::Value& meta = review.object["metadata"];
  // Before a name is made up, what it will begin with stands for it.
  std::string_view name = review.name;
  if (name.empty()) name = meta["name"].as_string();
  if (name.empty()) name = meta["generateName"].as_string();
  if (name.empty()) name = "Unknown";
  return Error::of(Reason::kForbidden,
                   cat(r.qualified_name(), " ", quoted(name), " is forbidden: ", why))
      .with({.name = std::string(name), .group = r.group, .kind = r.name});
}

}  // namespace cardea::admission
