#include "catalog/openapi/publication.h"

#include <algorithm>

#include "base/strings.h"
#include "catalog/discovery.h"
#include "catalog/openapi/openapi_v2.h"
#include "catalog/openapi/openapi_v3.h"
#include "catalog/openapi/permissions.h"
#include "crypto/digest.h"
#include "json/print.h"

namespace cardea::catalog {

using json::Value;

namespace {

// The custom resources a document of this path shows.
std::vector<Value> definitions_in(const Catalog& catalog, std::string_view path) {
  auto parts = split(path, '/');
  std::vector<Value> out;
  if (parts.size() < 2 || parts[0] != "apis") return out;
  for (const Group& group : catalog.groups()) {
    if (group.name != parts[1]) continue;
    for (const Version& version : group.versions)
      for (const Resource* resource : version.resources)
        if (resource->is_custom && (parts.size() < 3 || version.name == parts[2]))
          out.push_back(resource->definition);
  }
  return out;
}

}  // namespace

Publication::Document publish(std::string body) {
  std::string etag = cat("\"", crypto::upper_hex(crypto::sha512(body)), "\"");
  return std::make_shared<const PublishedDocument>(
      PublishedDocument{std::move(body), std::move(etag)});
}

bool PublishedDocument::matches(std::string_view if_none_match) const {
  for (std::string_view tag : split(if_none_match, ',')) {
    tag = trim(tag);
    if (tag.starts_with("W/")) tag.remove_prefix(2);
    if (tag == etag || tag == "*") return true;
  }
  return false;
}

const openapi::PublishedPermissions& Publication::permissions(const Catalog& catalog) {
  if (!permissions_) permissions_ = std::make_shared<const openapi::PublishedPermissions>(catalog);
  return *permissions_;
}

void Publication::forget_if_changed(const Catalog& catalog) {
  if (generation_ == catalog.generation()) return;
  generation_ = catalog.generation();
  if (maps_ != catalog.permission_maps()) {
    maps_ = catalog.permission_maps();
    permissions_ = nullptr;
    v3_.clear();
  }
  discovery_[0] = discovery_[1] = discovery_protobuf_[0] = discovery_protobuf_[1] = nullptr;
  v2_ = v2_protobuf_ = v3_index_ = nullptr;
  auto paths = openapi_v3_paths(catalog);
  std::erase_if(
      v3_, [&](const auto& entry) { return std::ranges::find(paths, entry.first) == paths.end(); });
}

Publication::Document Publication::aggregated_discovery(const Catalog& catalog, bool core) {
  std::lock_guard lock(mutex_);
  forget_if_changed(catalog);
  Document& document = discovery_[core];
  if (!document) document = publish(json::print(catalog::aggregated_discovery(catalog, core)));
  return document;
}

Publication::Document Publication::aggregated_discovery_protobuf(const Catalog& catalog,
                                                                 bool core) {
  std::lock_guard lock(mutex_);
  forget_if_changed(catalog);
  Document& document = discovery_protobuf_[core];
  if (!document)
    document = publish(catalog::aggregated_discovery_protobuf(
        catalog, catalog::aggregated_discovery(catalog, core)));
  return document;
}

Publication::Document Publication::openapi_v2(const Catalog& catalog) {
  std::lock_guard lock(mutex_);
  forget_if_changed(catalog);
  if (!v2_) v2_ = publish(json::print(catalog::openapi_v2(catalog, permissions(catalog))));
  return v2_;
}

Publication::Document Publication::openapi_v2_protobuf(const Catalog& catalog) {
  std::lock_guard lock(mutex_);
  forget_if_changed(catalog);
  if (!v2_protobuf_)
    v2_protobuf_ = publish(
        catalog::openapi_v2_protobuf(catalog::openapi_v2(catalog, permissions(catalog))));
  return v2_protobuf_;
}

Publication::Document Publication::openapi_v3_index(const Catalog& catalog) {
  std::lock_guard lock(mutex_);
  forget_if_changed(catalog);
  if (v3_index_) return v3_index_;
  Value paths = Value::object();
  for (const std::string& path : openapi_v3_paths(catalog)) {
    std::string_view etag = v3(catalog, path)->etag;
    std::string_view hash = etag.substr(1, etag.size() - 2);
    paths.set(path,
              Value::object({{"serverRelativeURL", cat("/openapi/v3/", path, "?hash=", hash)}}));
  }
  v3_index_ = publish(json::print(Value::object({{"paths", paths}})));
  return v3_index_;
}

Publication::Document Publication::openapi_v3(const Catalog& catalog, std::string_view path) {
  std::lock_guard lock(mutex_);
  forget_if_changed(catalog);
  return v3(catalog, std::string(path));
}

Publication::Document Publication::openapi_v3_protobuf(const Catalog& catalog,
                                                       std::string_view path) {
  std::lock_guard lock(mutex_);
  forget_if_changed(catalog);
  const std::string at(path);
  const Document text = v3(catalog, at);
  if (!text) return nullptr;
  Document& kept = v3_[at].protobuf;
  if (!kept)
    kept = std::make_shared<const PublishedDocument>(PublishedDocument{
        catalog::openapi_v3_protobuf(*catalog::openapi_v3(catalog, at, permissions(catalog))),
        text->etag});
  return kept;
}

Publication::Document Publication::v3(const Catalog& catalog, const std::string& path) {
  auto definitions = definitions_in(catalog, path);
  if (auto at = v3_.find(path); at != v3_.end() && at->second.definitions == definitions)
    return at->second.document;
  auto document = catalog::openapi_v3(catalog, path, permissions(catalog));
  if (!document) return nullptr;
  auto published = publish(json::print(*document));
  v3_[path] = {std::move(definitions), published, nullptr};
  return published;
}

}  // namespace cardea::catalog
