#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "authz/request_info.h"
#include "base/metrics.h"
#include "catalog/catalog.h"
#include "http/message.h"

namespace cardea::rest {

// What requests are told apart by, with the names and values of kube-apiserver's metrics.
struct RequestLabels {
  std::string_view verb;  // "GET", "LIST", "WATCH", "POST", "APPLY"
  std::string_view group, version, resource, subresource;
  std::string_view scope;  // "resource", "namespace", "cluster"; empty for other paths
  bool is_dry_run = false;
};

// The labels of a request. `resource` is null for other paths, and where the catalogue has no such
// resource. What a client may make up, such as names and verbs that the resource does not have,
// becomes no label. They live as long as what is passed.
RequestLabels labels_of(const authz::RequestInfo& info, const http::Request& request,
                        const catalog::Resource* resource);

// The requests of one kind. Counting costs a few atomic additions, from any thread.
class RequestSeries {
 public:
  RequestSeries(const RequestLabels& labels, std::uint64_t hash);

  void count(int code, std::chrono::nanoseconds took, std::size_t bytes);
  // An answer that goes on, such as a watch: its duration is not observed.
  void count_stream(int code) { count_code(code); }
  void add_running(std::int64_t n) { running_.fetch_add(n, std::memory_order_relaxed); }

 private:
  friend class RequestMetrics;
  void count_code(int code);

  struct Code {
    std::atomic<int> code{0};  // 0: free
    std::atomic<std::uint64_t> count{0};
  };
  const std::uint64_t hash_;
  const std::string verb_, group_, version_, resource_, subresource_, scope_, dry_run_;
  std::array<Code, 16> codes_;
  std::atomic<std::uint64_t> other_codes_{0};
  Histogram durations_;
  CountHistogram sizes_;
  std::atomic<std::int64_t> running_{0};
};

// A long request while it runs. Null: of no series.
class RunningRequest {
 public:
  RunningRequest() = default;
  explicit RunningRequest(RequestSeries& series) : series_(&series) { series.add_running(1); }
  RunningRequest(RunningRequest&& other) noexcept
      : series_(std::exchange(other.series_, nullptr)) {}
  RunningRequest& operator=(RunningRequest&& other) noexcept {
    std::swap(series_, other.series_);
    return *this;
  }
  ~RunningRequest() {
    if (series_) series_->add_running(-1);
  }

 private:
  RequestSeries* series_ = nullptr;
};

// All kinds of requests that were seen. Finding one takes neither a lock nor memory, except for the
// first request of its kind. The number of kinds is bounded: what has no place is counted together.
class RequestMetrics {
 public:
  RequestMetrics();

  // Lives as long as this. The caller passes names of resources that exist, not of clients' making.
  RequestSeries& find(const RequestLabels& labels);

  void print(MetricPrinter& out) const;

 private:
  static constexpr std::size_t kSlots = 8192, kProbes = 32;
  RequestSeries& make(const RequestLabels& labels, std::uint64_t hash);

  std::array<std::atomic<RequestSeries*>, kSlots> slots_{};
  RequestSeries others_;
  mutable std::mutex mutex_;
  std::deque<RequestSeries> made_;  // guarded by mutex_ while it grows
};

}  // namespace cardea::rest
