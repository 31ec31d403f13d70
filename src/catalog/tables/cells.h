#pragma once
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace cardea::catalog::cells {

struct TableContext {
  std::chrono::system_clock::time_point now;
};

// The source of one cell of a built-in kind's row: a path in the object, or a function.
struct Cell {
  enum class From : std::uint8_t { kText, kInteger, kBoolean, kCount, kAge, kComputed };
  using Compute = json::Value (*)(const json::Value& object, const TableContext&);

  From from;
  std::string_view path;      // names separated by dots
  std::string_view fallback;  // shown instead of a missing or empty value
  Compute compute = nullptr;
};

constexpr Cell text(std::string_view path, std::string_view fallback = "") {
  return {Cell::From::kText, path, fallback};
}
constexpr Cell integer(std::string_view path) {
  return {Cell::From::kInteger, path, ""};
}
constexpr Cell boolean(std::string_view path, bool fallback = false) {
  return {Cell::From::kBoolean, path, fallback ? "true" : "false"};
}
constexpr Cell count(std::string_view path) {
  return {Cell::From::kCount, path, ""};
}  // of list items or map keys
constexpr Cell age(std::string_view path = "metadata.creationTimestamp",
                   std::string_view fallback = "<unknown>") {
  return {Cell::From::kAge, path, fallback};
}
constexpr Cell computed(Cell::Compute compute) {
  return {Cell::From::kComputed, "", "", compute};
}
constexpr Cell name() {
  return text("metadata.name");
}

json::Value evaluate(const Cell& cell, const json::Value& object, const TableContext& context);

// The age of a time at a dotted path, or the fallback.
std::string age_at(const json::Value& object, std::string_view path, const TableContext& context,
                   std::string_view fallback = "<unknown>");
const json::Value& at_path(const json::Value& object, std::string_view path);
// The first condition of this type in a list of conditions, or null.
const json::Value& condition(const json::Value& conditions, std::string_view type);
bool is_true(const json::Value& conditions, std::string_view type);
// Items joined with commas; of more than `most`, the first and ` + N more...`.
std::string shortened(const std::vector<std::string>& items, std::size_t most, std::size_t total,
                      std::string_view separator = ",");
std::string or_none(std::string text);  // "<none>" for nothing

// The cells of a kind, in the order of its columns.
struct KindCells {
  std::string_view group, kind;
  std::span<const Cell> cells;
  int sorted_by = -1;  // the index of a number by which lists are sorted
};

std::span<const KindCells> core_cells();
std::span<const KindCells> workload_cells();
std::span<const KindCells> cluster_cells();

// Null if the kind shows only its name and creation time.
const KindCells* cells_of(std::string_view group, std::string_view kind);

}  // namespace cardea::catalog::cells
