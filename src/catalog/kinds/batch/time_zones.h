#pragma once
#include <string_view>

namespace cardea::catalog {

// Whether the IANA time zone database has a zone of this name ("Europe/Berlin"). Upper and lower
// case differ.
bool is_time_zone(std::string_view name);

}  // namespace cardea::catalog
