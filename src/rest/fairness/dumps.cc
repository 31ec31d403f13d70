// The pages that show what waits and runs.
#include "base/clock.h"
#include "base/strings.h"
#include "rest/fairness/fairness.h"

namespace cardea::rest::fairness {
namespace {

// Columns as wide as their widest cell, each but the last with a comma.
class Page {
 public:
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  std::string text() const {
    std::vector<std::size_t> widths;
    for (const auto& row : rows_)
      for (std::size_t i = 0; i + 1 < row.size(); ++i) {
        if (i == widths.size()) widths.push_back(8);
        widths[i] = std::max(widths[i], row[i].size() + 2);
      }
    std::string out;
    for (const auto& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i) {
        out += row[i];
        if (i + 1 == row.size()) break;
        out += ',';
        out.append(widths[i] - row[i].size() - 1, ' ');
      }
      out += '\n';
    }
    return out;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

std::string seat_seconds(double value) {
  std::string text = std::to_string(value);
  return cat(text, "ss");
}

std::string word(bool value) {
  return value ? "true" : "false";
}

}  // namespace

std::string Fairness::dump_levels() const {
  Page page;
  page.add({"PriorityLevelName", "ActiveQueues", "IsIdle", "IsQuiescing", "WaitingRequests",
            "ExecutingRequests", "DispatchedRequests", "RejectedRequests", "TimedoutRequests",
            "CancelledRequests"});
  std::lock_guard lock(mutex_);
  for (const auto& [name, entry] : levels_) {
    const Level::Numbers n = entry.level->numbers();
    auto text = [](auto number) { return std::to_string(number); };
    page.add({name, text(n.active_queues), word(n.waiting == 0 && n.running == 0),
              word(entry.is_leaving), text(n.waiting), text(n.running), text(n.dispatched),
              text(n.refused), text(n.late), text(n.gone)});
  }
  return page.text();
}

std::string Fairness::dump_queues() const {
  Page page;
  page.add({"PriorityLevelName", "Index", "PendingRequests", "ExecutingRequests", "SeatsInUse",
            "NextDispatchR", "InitialSeatsSum", "MaxSeatsSum", "TotalWorkSum"});
  std::lock_guard lock(mutex_);
  for (const auto& [name, entry] : levels_)
    entry.level->each_queue([&, &level = name](const Queue& q) {
      page.add({level, std::to_string(q.index), std::to_string(q.length), std::to_string(q.running),
                std::to_string(q.held_seats), seat_seconds(q.next_start),
                std::to_string(q.waiting_first_seats), std::to_string(q.waiting_seats),
                seat_seconds(q.waiting_work)});
    });
  return page.text();
}

std::string Fairness::dump_requests(bool with_details, Time now,
                                    std::chrono::system_clock::time_point wall) const {
  Page page;
  std::vector<std::string> head = {
      "PriorityLevelName", "FlowSchemaName", "QueueIndex", "RequestIndexInQueue", "FlowDistingsher",
      "ArriveTime",        "InitialSeats",   "FinalSeats", "AdditionalLatency",   "StartTime"};
  if (with_details)
    for (const char* column : {"UserName", "Verb", "APIPath", "Namespace", "Name", "APIVersion",
                               "Resource", "SubResource"})
      head.emplace_back(column);
  page.add(std::move(head));
  std::lock_guard lock(mutex_);
  for (const auto& [name, entry] : levels_)
    entry.level->each_waiter(
        [&, &level = name](const Queue& q, std::size_t at, const Waiter& w, Time arrived) {
          const auto came = wall + std::chrono::duration_cast<std::chrono::system_clock::duration>(
                                       arrived - now);
          std::vector<std::string> row = {
              level,
              w.flow->schema,
              std::to_string(q.index),
              std::to_string(at),
              std::string(w.flow_name),
              rfc3339(came),
              std::to_string(w.work.seats),
              std::to_string(w.work.last_seats),
              cat(std::to_string(
                      std::chrono::duration_cast<std::chrono::milliseconds>(w.work.last).count()),
                  "ms"),
              "0001-01-01T00:00:00Z"};
          if (with_details) {
            const authz::RequestInfo& i = *w.info;
            for (const std::string& cell :
                 {w.user->name, i.verb, i.path, i.namespace_name, i.name,
                  i.api_group.empty() ? i.api_version : cat(i.api_group, "/", i.api_version),
                  i.resource, i.subresource})
              row.push_back(cell);
          }
          page.add(std::move(row));
        });
  return page.text();
}

}  // namespace cardea::rest::fairness
