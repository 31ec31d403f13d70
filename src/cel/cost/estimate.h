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

// The highest possible cost of an expression, found without running it. Kubernetes refuses rules of
// custom resources by this number, so it is counted exactly as Kubernetes counts it: cel-go's
// estimate, Kubernetes' prices for its own functions, and sizes from the schema.
namespace cardea::cel {

// The largest size of data of one schema node. If the schema has no limit, the limit follows from
// Kubernetes' limit for requests.
struct DataSize {
  std::int64_t max_elements = 0;  // characters, bytes, items or entries; 0 for data without a
                                  // length
  std::int64_t min_json = 0;      // bytes of its shortest JSON
  std::map<std::string, std::unique_ptr<DataSize>, std::less<>> fields;  // by escaped name
  std::unique_ptr<DataSize> key, element;
  bool names_elements = false;  // a map whose entries may also be selected by name
  std::string variable;  // at the root: the only variable of this size; empty: every variable has
                         // it
};

// Null if rules cannot see such data. `root`: apiVersion, kind and metadata are present although
// the schema does not list them.
std::unique_ptr<DataSize> data_size(const json::Value& schema, bool root);

// Of the variable `device` in the selectors of resource claims and device classes.
const DataSize& device_size();

// How many times data of this size fits into one request. The cost of a rule under an unbounded
// list or map is multiplied by this number.
std::uint64_t most_occurrences(const DataSize& size);

struct Estimate {
  std::uint64_t max_cost = 0;
  std::set<std::string, std::less<>> variables;  // those it names
};

// `text` must compile in `environment`. Every variable is assumed to have the size `root`, as
// Kubernetes assumes. Without `root` no sizes are known.
Estimate estimate(std::string_view text, const Environment& environment, const DataSize* root);

}  // namespace cardea::cel
