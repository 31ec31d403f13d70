#include "schema/schema.h"

#include <algorithm>

namespace cardea::schema {

const Property* Schema::property(std::string_view name) const {
  auto at = std::lower_bound(properties.begin(), properties.end(), name,
                             [](const Property& p, std::string_view n) { return p.name < n; });
  return at != properties.end() && at->name == name ? &*at : nullptr;
}

void Schema::order_by_number() {
  // Paths of different lengths compare by their first steps.
  auto first_steps = [this](std::uint16_t index) {
    std::uint32_t path = properties[index].number;
    return path >> 20 ? path : path >> 10 ? path << 10 : path << 20;
  };
  wire_order.clear();
  for (std::size_t i = 0; i < properties.size(); ++i)
    if (properties[i].number) wire_order.push_back(static_cast<std::uint16_t>(i));
  std::ranges::sort(wire_order, {}, first_steps);
}

}  // namespace cardea::schema
