#pragma once
#include <chrono>
#include <string_view>

#include "base/result.h"
#include "catalog/catalog.h"
#include "json/value.h"

namespace cardea::catalog {

// Other forms of objects and lists: meta.k8s.io's Table, which kubectl prints, and
// PartialObjectMetadata, which is an object without its body. Pure functions; `version` is "v1" or
// "v1beta1".

// How much of each object its row contains: the `includeObject` parameter.
enum class IncludeObject { kMetadata, kNone, kObject };
Result<IncludeObject> parse_include_object(std::string_view text);

struct TableOptions {
  IncludeObject include = IncludeObject::kMetadata;
  std::string_view version = "v1";
  bool headers = true;  // a watch sends the columns only in its first event
  std::chrono::system_clock::time_point now;
};

// `object` is one object of the resource, a list of objects, or the Scale of one. It is in the
// resource's version. `catalog` finds the version from which the cells are read.
json::Value table_of(const json::Value& object, const Resource& resource, const Catalog& catalog,
                     const TableOptions& options);

json::Value partial_metadata(const json::Value& object, std::string_view version = "v1");
json::Value partial_metadata_list(const json::Value& list, std::string_view version = "v1");

}  // namespace cardea::catalog
