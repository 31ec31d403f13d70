#include "schema/schema.h"

#include <algorithm>

namespace cardea::schema {

const Property* Schema::property(std::string_view name) const {
  auto at = std::lower_bound(properties.begin(), properties.end(), name,
                             [](const Property& p, std::string_view n) { return p.name < n; });
  return at != properties.end() && at->name == name ? &*at : nullptr;
}

}  // namespace cardea::schema
