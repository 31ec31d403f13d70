#pragma once
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "catalog/catalog.h"
#include "json/value.h"
#include "store/store.h"

namespace cardea::admission {

// What plugins look up while they decide: stored objects, as they are now. Borrows the store.
class Objects {
 public:
  explicit Objects(const store::Store& store) : store_(store) {}

  // Null when there is none.
  store::RecordPtr find(const catalog::Catalog& catalog, std::string_view group, std::string_view resource,
                        std::string_view namespace_name, std::string_view name) const;
  json::Value get(const catalog::Catalog& catalog, std::string_view group, std::string_view resource,
                  std::string_view namespace_name, std::string_view name) const;
  std::vector<json::Value> list(const catalog::Catalog& catalog, std::string_view group, std::string_view resource,
                                std::string_view namespace_name = "") const;
  // The same with the records they come from, for writes that rely on them.
  std::vector<std::pair<store::RecordPtr, json::Value>> records(const catalog::Catalog& catalog, std::string_view group,
                                                                std::string_view resource, std::string_view namespace_name) const;

 private:
  const store::Store& store_;
};

// The object of a record, without its resourceVersion.
json::Value parsed(const store::Record& record);

struct Review;
// `pods "x" is forbidden: why`
Error forbidden(const Review& review, std::string_view why);

}  // namespace cardea::admission
