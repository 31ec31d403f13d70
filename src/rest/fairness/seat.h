#pragma once
#include <utility>

#include "http/message.h"
#include "rest/fairness/level.h"

namespace cardea::rest::fairness {

class Lane;

// The seats of one request, held until it has run. Empty: the request needs none. Any thread, one
// at a time.
class Seat {
 public:
  Seat() = default;
  // The seats have been taken. `lane`, when not null, keeps those that are needed for longer.
  Seat(Flow& flow, Queue* queue, const Work& work, Time began, Lane* lane, bool is_watch);
  Seat(Seat&& other) noexcept { swap(other); }
  Seat& operator=(Seat&& other) noexcept {
    Seat old(std::move(other));
    swap(old);
    return *this;
  }
  ~Seat() { give_back(); }

  explicit operator bool() const { return flow_ != nullptr; }
  const Flow* flow() const { return flow_; }
  bool is_exempt() const { return flow_ && flow_->level.is_exempt(); }
  void give_back();

 private:
  void swap(Seat& other) noexcept {
    std::swap(flow_, other.flow_);
    std::swap(queue_, other.queue_);
    std::swap(work_, other.work_);
    std::swap(began_, other.began_);
    std::swap(lane_, other.lane_);
    std::swap(is_watch_, other.is_watch_);
  }

  Flow* flow_ = nullptr;
  Queue* queue_ = nullptr;
  Work work_;
  Time began_;
  Lane* lane_ = nullptr;
  bool is_watch_ = false;
};

inline constexpr std::string_view kSchemaHeader = "X-Kubernetes-Pf-Flowschema-Uid";
inline constexpr std::string_view kLevelHeader = "X-Kubernetes-Pf-Prioritylevel-Uid";
// Tells the client where its request was put, by ids that mean nothing to it.
void name_flow(const Flow* flow, http::Headers& headers);

}  // namespace cardea::rest::fairness
