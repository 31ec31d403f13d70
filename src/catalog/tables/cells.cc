#include "catalog/tables/cells.h"

#include "base/strings.h"
#include "catalog/tables/duration.h"
#include "json/print.h"

namespace cardea::catalog::cells {

using json::Value;

const Value& at_path(const Value& object, std::string_view path) {
  const Value* at = &object;
  while (!path.empty()) {
    auto dot = path.find('.');
    at = &(*at)[path.substr(0, dot)];
    path = dot == path.npos ? std::string_view() : path.substr(dot + 1);
  }
  return *at;
}

std::string age_at(const Value& object, std::string_view path, const TableContext& context,
                   std::string_view fallback) {
  auto time = parse_time(at_path(object, path).as_string());
  return time ? human_duration(context.now - *time) : std::string(fallback);
}

Value evaluate(const Cell& cell, const Value& object, const TableContext& context) {
  switch (cell.from) {
    case Cell::From::kText: {
      const Value& value = at_path(object, cell.path);
      if (value.is_null() || (value.is_string() && value.as_string().empty())) return cell.fallback;
      return value.is_string() ? value : Value(json::print(value));
    }
    case Cell::From::kInteger:
      return at_path(object, cell.path).as_int();
    case Cell::From::kBoolean: {
      const Value& value = at_path(object, cell.path);
      return value.is_bool() ? value : Value(cell.fallback == "true");
    }
    case Cell::From::kCount:
      return static_cast<std::int64_t>(at_path(object, cell.path).size());
    case Cell::From::kAge:
      return age_at(object, cell.path, context, cell.fallback);
    case Cell::From::kComputed:
      return cell.compute(object, context);
  }
  return {};
}

const Value& condition(const Value& conditions, std::string_view type) {
  static const Value kNone;
  for (const Value& one : conditions.items())
    if (one["type"].as_string() == type) return one;
  return kNone;
}

bool is_true(const Value& conditions, std::string_view type) {
  return condition(conditions, type)["status"].as_string() == "True";
}

std::string shortened(const std::vector<std::string>& items, std::size_t most, std::size_t total,
                      std::string_view separator) {
  if (items.size() <= most && total <= most) return join(items, separator);
  std::vector<std::string> first(
      items.begin(), items.begin() + static_cast<std::ptrdiff_t>(std::min(most, items.size())));
  return cat(join(first, separator), " + ", total - most, " more...");
}

std::string or_none(std::string text) {
  return text.empty() ? "<none>" : std::move(text);
}

const KindCells* cells_of(std::string_view group, std::string_view kind) {
  for (auto table : {core_cells(), workload_cells(), cluster_cells()})
    for (const KindCells& entry : table)
      if (entry.group == group && entry.kind == kind) return &entry;
  return nullptr;
}

}  // namespace cardea::catalog::cells
