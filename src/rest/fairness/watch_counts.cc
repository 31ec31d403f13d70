#include "rest/fairness/watch_counts.h"

#include <functional>

namespace cardea::rest::fairness {

std::size_t WatchCounts::place(const authz::RequestInfo& info, std::string_view space,
                               std::string_view name) {
  std::size_t hash = 0;
  for (std::string_view part :
       {std::string_view(info.api_group), std::string_view(info.resource), space, name})
    hash = (hash ^ std::hash<std::string_view>{}(part)) * 0x9e3779b97f4a7c15U;
  return (hash >> 20) % kCounters;
}

WatchCounts::Watcher WatchCounts::add(const authz::RequestInfo& info) {
  return Watcher(counters_[place(info, info.namespace_name, info.name)]);
}

std::int64_t WatchCounts::told_of(const authz::RequestInfo& info) const {
  auto at = [&](std::string_view space, std::string_view name) {
    return counters_[place(info, space, name)].load(std::memory_order_relaxed);
  };
  std::int64_t sum = at({}, {});
  if (!info.namespace_name.empty()) sum += at(info.namespace_name, {});
  if (!info.name.empty()) sum += at(info.namespace_name, info.name);
  return sum;
}

}  // namespace cardea::rest::fairness
