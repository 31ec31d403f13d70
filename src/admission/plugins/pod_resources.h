#pragma once
#include <map>
#include <string>
#include <string_view>

#include "base/quantity.h"
#include "json/value.h"

namespace cardea::admission {

// Amounts by name: cpu, memory, pods. Sorted.
using Amounts = std::map<std::string, Quantity, std::less<>>;

// An object of quantities; what cannot be read is left out.
Amounts read_amounts(const json::Value& list);
json::Value write_amounts(const Amounts& amounts);
void add_amounts(Amounts& to, const Amounts& more);
void take_greater(Amounts& to, const Amounts& other);

// The resources that a pod requests ("requests") or may use at most ("limits"): the sum of its
// containers, or the largest need of one init container when that is more; sidecars count in
// both. Pod-level values have precedence. `with_overhead` adds the overhead of the runtime.
Amounts pod_amounts(const json::Value& pod, std::string_view requests_or_limits,
                    bool with_overhead);

}  // namespace cardea::admission
