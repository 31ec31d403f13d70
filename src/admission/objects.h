#pragma once
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "catalog/catalog.h"
#include "json/value.h"
#include "store/store.h"

namespace cardea::admission {

// The objects that plugins look up while they decide: current stored objects. Borrows the
// store.
class Objects {
 public:
  explicit Objects(store::Store& store) : store_(store) {}
  store::Store& store() const { return store_; }

  // Null when there is none.
  store::RecordPtr find(const catalog::Catalog& catalog, std::string_view group,
                        std::string_view resource, std::string_view namespace_name,
                        std::string_view name) const;
  json::Value get(const catalog::Catalog& catalog, std::string_view group,
                  std::string_view resource, std::string_view namespace_name,
                  std::string_view name) const;
  // Those that can be read.
  std::vector<json::Value> list(const catalog::Catalog& catalog, std::string_view group,
                                std::string_view resource,
                                std::string_view namespace_name = "") const;
  // All of them, with the records they come from: for rules that refuse and must not be missed. An
  // error when one cannot be read.
  Result<std::vector<std::pair<store::RecordPtr, json::Value>>> records(
      const catalog::Catalog& catalog, std::string_view group, std::string_view resource,
      std::string_view namespace_name) const;

  // Of a resource that is known already, in the version it is stored in.
  store::RecordPtr find(const catalog::Resource& resource, std::string_view namespace_name,
                        std::string_view name) const;
  std::vector<store::RecordPtr> records(const catalog::Resource& resource,
                                        std::string_view namespace_name) const;

 private:
  store::Store& store_;
};

// The object of a record, without its resourceVersion; null when it cannot be read.
json::Value parsed(const store::Record& record);
// Says so, with its key.
std::string unreadable_text(const store::Record& record);

struct Review;
// `pods "x" is forbidden: why`
Error forbidden(const Review& review, std::string_view why);

}  // namespace cardea::admission
