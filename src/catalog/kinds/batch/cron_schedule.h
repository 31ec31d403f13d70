#pragma once
#include <string>
#include <string_view>

namespace cardea::catalog {

// The error of a cron schedule, empty if it is well formed. A schedule has five fields (minute hour
// day month weekday) of lists, ranges and steps, or is a descriptor (@daily, @every 5m). Pure.
std::string cron_schedule_error(std::string_view schedule);

}  // namespace cardea::catalog
