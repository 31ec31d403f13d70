#pragma once
#include <string_view>

#include "base/result.h"
#include "catalog/catalog.h"
#include "json/value.h"
#include "rest/verbs/options.h"

namespace cardea::rest {

// Which objects of a collection a list or watch is about. A value; cheap to test when it selects
// all.
class Selection {
 public:
  // Refuses fields that the resource does not know, in Kubernetes' words.
  static Result<Selection> make(const catalog::Resource& resource, const ListOptions& options);

  bool selects_all() const { return labels_.empty() && fields_.empty(); }
  bool matches(const json::Value& object) const;

 private:
  const catalog::Resource* resource_ = nullptr;
  json::LabelSelector labels_;
  json::FieldSelector fields_;
};

}  // namespace cardea::rest
