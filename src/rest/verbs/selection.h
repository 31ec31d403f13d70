#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalog/catalog.h"
#include "json/label_matcher.h"
#include "json/value.h"
#include "rest/verbs/options.h"
#include "store/store.h"

namespace cardea::rest {

// Which objects of a collection a list or watch is about. A value; cheap to test when it selects
// all.
class Selection {
 public:
  // Refuses fields that the resource does not know, in Kubernetes' words.
  static Result<Selection> make(const catalog::Resource& resource, const ListOptions& options);

  bool selects_all() const { return selects_all_; }
  // The only name and namespace that it selects; empty: any.
  const std::string& name() const { return name_; }
  const std::string& namespace_name() const { return namespace_; }
  bool matches(const json::Value& object) const;

 private:
  const catalog::Resource* resource_ = nullptr;
  // What is said about one field, however often.
  struct Condition {
    std::string field;
    std::optional<std::string> value;   // that it must have
    std::vector<std::string> unwanted;  // sorted
  };

  bool selects_all_ = true;
  bool selects_none_ = false;
  json::LabelMatcher labels_;
  std::vector<Condition> fields_;
  std::string name_, namespace_;
};

// Where in the store the selected objects of a collection are: with a name, and a namespace where
// there is one, a single key. Keys of other objects may be among them.
store::KeyRange keys_of(const catalog::Resource& resource, std::string_view namespace_name,
                        const Selection& selection);

}  // namespace cardea::rest
