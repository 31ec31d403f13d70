#pragma once
#include <string>
#include <string_view>

namespace cardea::catalog {

// What is wrong with a cron schedule: five fields (minute hour day month weekday) of lists, ranges
// and steps, or a descriptor (@daily, @every 5m). Empty when it can be read. Pure.
std::string cron_schedule_error(std::string_view schedule);

}  // namespace cardea::catalog
