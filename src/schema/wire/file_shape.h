#pragma once
#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "schema/schema.h"

namespace cardea::schema {

// The shape of a configuration file, put together by hand where no OpenAPI describes it: derive,
// build `root_` in the constructor, and decode by root(). What is made lives as long as this.
class FileShape {
 public:
  const Schema& root() const { return *root_; }

 protected:
  using Fields = std::initializer_list<std::pair<std::string_view, const Schema*>>;

  const Schema* scalar(Schema::Type type) {
    Schema* s = nodes_.make();
    s->type = type;
    return s;
  }
  const Schema* list_of(const Schema* items) {
    Schema* s = nodes_.make();
    s->type = Schema::Type::kArray;
    s->items = items;
    return s;
  }
  // `name` is the type's, as errors call it.
  Schema* record(std::string_view name, Fields fields) {
    Schema* s = nodes_.make();
    s->type = Schema::Type::kObject;
    s->type_name = name;
    for (const auto& [field, type] : fields)
      s->properties.push_back({.name = std::string(field), .schema = type});
    std::ranges::sort(s->properties, {}, &Property::name);
    return s;
  }

  SchemaSet nodes_;
  const Schema* root_ = nullptr;
};

}  // namespace cardea::schema
