// Whether a kube-controller-manager works for this cluster from outside. It holds a Lease and
// renews it; meanwhile the controllers of this server would do the same work a second time.
#include <algorithm>
#include <utility>

#include "rest/controllers/controllers.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {
namespace {

using json::Value;
using std::chrono::steady_clock;

constexpr std::string_view kLease = "/registry/leases/kube-system/kube-controller-manager";

class OutsideManager : public Controller {
 public:
  OutsideManager(ControllerContext context, std::vector<Controller*> own)
      : Controller(std::move(context), "outside-manager", {.prefixes = {std::string(kLease)}}),
        own_(std::move(own)) {}

 private:
  bool cares(const store::Event& event) const override { return event.record->key() == kLease; }

  // As clients of a Lease do: the time counts from the moment when a renewal is seen, so that the
  // clocks of two machines need not agree.
  void observe(const store::Event& event) override {
    std::string key(kLease);
    const Value spec = event.type == store::EventType::kPut ? parse_stored(*event.record)["spec"]
                                                            : Value();
    if (spec["holderIdentity"].as_string().empty()) {
      held_until_ = {};
      enqueue(std::move(key));
      return;
    }
    if (spec == seen_) return;  // a change of the Lease that renews nothing
    seen_ = spec;
    const std::chrono::seconds term(
        std::clamp<std::int64_t>(spec["leaseDurationSeconds"].as_int(), 1, kLongestTerm));
    held_until_ = steady_clock::now() + term;
    if (!std::exchange(is_held_, true))
      tell("a kube-controller-manager holds its lease; the server's own controllers step aside");
    for (Controller* c : own_) c->step_aside();
    enqueue(std::move(key));  // and wait from there: this term may be shorter than the last one
  }

  Task<Result<void>> reconcile(std::string key) override {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(held_until_ -
                                                                   steady_clock::now());
    if (left > std::chrono::milliseconds(0)) {
      enqueue_after(std::move(key), left);
      co_return Result<void>();
    }
    if (std::exchange(is_held_, false))
      tell("no kube-controller-manager holds its lease; the server's own controllers go on");
    for (Controller* c : own_)
      if (auto ok = c->step_in(); !ok) co_return ok;
    co_return Result<void>();
  }

  void tell(const std::string& line) const {
    if (context().notice) context().notice(line);
  }

  static constexpr std::int64_t kLongestTerm = 300;

  const std::vector<Controller*> own_;
  steady_clock::time_point held_until_{};
  Value seen_;  // what the Lease said last
  bool is_held_ = false;
};

}  // namespace

std::unique_ptr<Controller> outside_manager(ControllerContext context,
                                            std::vector<Controller*> own) {
  return std::make_unique<OutsideManager>(std::move(context), std::move(own));
}

}  // namespace cardea::rest
