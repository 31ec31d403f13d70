#include "catalog/kinds/batch/cron_schedule.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "base/strings.h"
#include "base/time_parse.h"

namespace cardea::catalog {
namespace {

constexpr std::array<std::string_view, 12> kMonths = {"jan", "feb", "mar", "apr", "may", "jun",
                                                      "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> kDays = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

struct Field {
  std::int64_t low, high;
  std::span<const std::string_view> names;  // of `low`, `low` + 1...
};
constexpr Field kFields[] = {
    {0, 59, {}}, {0, 23, {}}, {1, 31, {}}, {1, 12, kMonths}, {0, 6, kDays}};

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> out;
  while (!(text = trim(text)).empty()) {
    auto end = std::ranges::find_if(
        text, [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; });
    auto length = static_cast<std::size_t>(end - text.begin());
    out.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return out;
}

std::string number_error(std::string_view text, std::int64_t& number) {
  auto parsed = parse_int(text.starts_with('+') ? text.substr(1) : text);
  if (!parsed)
    return cat("failed to parse int from ", text, ": strconv.Atoi: parsing ", quoted(text),
               ": invalid syntax");
  if (*parsed < 0) return cat("negative number (", *parsed, ") not allowed: ", text);
  number = *parsed;
  return "";
}

std::string value_error(std::string_view text, const Field& field, std::int64_t& number) {
  auto named = std::ranges::find(field.names, lower(text));
  if (named == field.names.end()) return number_error(text, number);
  number = field.low + (named - field.names.begin());
  return "";
}

// number | number "-" number [ "/" number ], with "*" and "?" for everything.
std::string range_error(std::string_view text, const Field& field) {
  auto with_step = split(text, '/');
  auto bounds = split(with_step[0], '-');
  std::int64_t start = field.low, end = field.high, step = 1;
  bool single = bounds.size() == 1;
  if (bounds[0] != "*" && bounds[0] != "?") {
    if (std::string error = value_error(bounds[0], field, start); !error.empty()) return error;
    if (bounds.size() > 2) return cat("too many hyphens: ", text);
    end = start;
    if (!single)
      if (std::string error = value_error(bounds[1], field, end); !error.empty()) return error;
  }
  if (with_step.size() > 2) return cat("too many slashes: ", text);
  if (with_step.size() == 2) {
    if (std::string error = number_error(with_step[1], step); !error.empty()) return error;
    if (single) end = field.high;
  }
  if (start < field.low)
    return cat("beginning of range (", start, ") below minimum (", field.low, "): ", text);
  if (end > field.high)
    return cat("end of range (", end, ") above maximum (", field.high, "): ", text);
  if (start > end)
    return cat("beginning of range (", start, ") beyond end of range (", end, "): ", text);
  if (step == 0) return cat("step of range should be a positive number: ", text);
  return "";
}

std::string descriptor_error(std::string_view text) {
  for (std::string_view known :
       {"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})
    if (text == known) return "";
  constexpr std::string_view kEvery = "@every ";
  if (!text.starts_with(kEvery)) return cat("unrecognized descriptor: ", text);
  auto duration = parse_duration(text.substr(kEvery.size()));
  return duration ? "" : cat("failed to parse duration ", text, ": ", duration.error().message);
}

}  // namespace

std::string cron_schedule_error(std::string_view schedule) {
  if (schedule.empty()) return "empty spec string";
  if (schedule.starts_with('@')) return descriptor_error(schedule);
  auto fields = words(schedule);
  if (fields.size() != std::size(kFields)) {
    std::string list;
    for (std::string_view field : fields) list += cat(list.empty() ? "" : " ", field);
    return cat("expected exactly 5 fields, found ", fields.size(), ": [", list, "]");
  }
  for (std::size_t i = 0; i < fields.size(); ++i)
    for (std::string_view range : split(fields[i], ',')) {
      if (range.empty()) continue;
      if (std::string error = range_error(range, kFields[i]); !error.empty()) return error;
    }
  return "";
}

}  // namespace cardea::catalog
