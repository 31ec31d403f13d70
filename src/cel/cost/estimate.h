#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "cel/environment.h"
#include "json/value.h"

// What an expression may cost at most, found without running it. Kubernetes refuses rules of custom
// resources by this number, so it is counted as Kubernetes counts it, oddities included: cel-go's
// estimate, Kubernetes' prices for its own functions, and sizes from the schema.
namespace cardea::cel {

// How large data of one schema node can be. Numbers of Kubernetes' request limit stand where the
// schema has none.
struct DataSize {
  std::int64_t max_elements = 0;  // characters, bytes, items or entries; 0 for what has no length
  std::int64_t min_json = 0;      // bytes its shortest JSON takes
  std::map<std::string, std::unique_ptr<DataSize>, std::less<>> fields;  // by escaped name
  std::unique_ptr<DataSize> key, element;
  bool names_elements = false;  // a map whose entries may be selected by name as well
  std::string variable;  // at the root: the only variable of this size; empty: every name has it
};

// Null when rules cannot see such data. `root`: apiVersion, kind and metadata are there without
// being written.
std::unique_ptr<DataSize> data_size(const json::Value& schema, bool root);

// Of the variable `device` in the selectors of resource claims and device classes.
const DataSize& device_size();

// How often data of this size fits into one request: what a rule under an unbounded list or map is
// multiplied with.
std::uint64_t most_occurrences(const DataSize& size);

struct Estimate {
  std::uint64_t max_cost = 0;
  std::set<std::string, std::less<>> variables;  // those it names
};

// `text` must compile in `environment`. Every variable is taken to have the size `root`, as
// Kubernetes takes it. Without `root` nothing is known of sizes.
Estimate estimate(std::string_view text, const Environment& environment, const DataSize* root);

}  // namespace cardea::cel
