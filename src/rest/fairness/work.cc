#include "rest/fairness/work.h"

#include <charconv>
#include <string_view>

namespace cardea::rest::fairness {
namespace {

constexpr std::int64_t kObjectsPerSeat = 100;
constexpr std::int64_t kWatchersPerSeat = 10;
constexpr std::uint32_t kMostSeats = 10;
constexpr std::chrono::nanoseconds kTellingWatchers = std::chrono::milliseconds(5);

std::uint32_t at_most(std::uint32_t of_level) {
  return of_level == 0 ? kMostSeats : std::min(of_level, kMostSeats);
}

std::int64_t limit_of(const authz::RequestInfo& info) {
  std::int64_t limit = 0;
  if (auto text = info.query.first("limit"))
    std::from_chars(text->data(), text->data() + text->size(), limit);
  return limit;
}

// Whether a watch begins with all objects.
bool begins_with_objects(const authz::RequestInfo& info) {
  if (auto wanted = info.query.first("sendInitialEvents"); wanted && !wanted->empty())
    return authz::is_true_parameter(*wanted);
  const std::string_view from = info.query.first("resourceVersion").value_or("");
  return from.empty() || from == "0";
}

std::int64_t objects_read(const authz::RequestInfo& info, const WorkFacts& facts) {
  if (!info.name.empty()) return 1;
  const std::int64_t all = facts.objects(info);
  const bool reads_all = info.verb == "watch" || !info.field_selector.empty() ||
                         !info.label_selector.empty();
  const std::int64_t limit = limit_of(info);
  return reads_all || limit <= 0 ? all : std::min(all, limit);
}

bool is_read(const authz::RequestInfo& info) {
  return info.verb == "list" || (info.verb == "watch" && begins_with_objects(info));
}

bool tells_watchers(const authz::RequestInfo& info) {
  const bool writes = info.verb == "create" || info.verb == "update" || info.verb == "patch" ||
                      info.verb == "delete";
  // A token is made and not stored.
  return writes && !(info.resource == "serviceaccounts" && info.subresource == "token");
}

}  // namespace

Work estimate(const authz::RequestInfo& info, std::uint32_t of_level, const WorkFacts& facts) {
  Work out;
  if (!info.is_resource_request) return out;
  const std::int64_t most = at_most(of_level);
  if (is_read(info)) {
    const std::int64_t seats = (objects_read(info, facts) + kObjectsPerSeat - 1) / kObjectsPerSeat;
    out.seats = static_cast<std::uint32_t>(std::clamp<std::int64_t>(seats, 1, most));
  } else if (tells_watchers(info)) {
    const std::int64_t watchers = facts.watchers(info);
    if (watchers < kWatchersPerSeat) return out;
    const std::int64_t seats = (watchers + kWatchersPerSeat - 1) / kWatchersPerSeat;
    out.last_seats = static_cast<std::uint32_t>(std::min(seats, most));
    // The same work, on fewer seats for longer.
    out.last = kTellingWatchers * seats / out.last_seats;
  }
  return out;
}

}  // namespace cardea::rest::fairness
