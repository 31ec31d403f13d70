// Which of several servers on one store runs the controllers: the one that holds a Lease and renews
// it, as kube-controller-manager is elected.
#include "base/strings.h"
#include "rest/controllers/controllers.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {
namespace {

using json::Value;
using std::chrono::steady_clock;

constexpr std::string_view kSpace = "/registry/namespaces/kube-system";
constexpr std::string_view kHeld = "/registry/leases/kube-system/cardea-controllers";
constexpr std::string_view
    kElectionPath = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
constexpr std::string_view kLeaseName = "cardea-controllers";
constexpr std::chrono::seconds kTerm{15};
constexpr std::chrono::seconds kRenewEvery{5};
constexpr std::chrono::seconds kGiveUpAfter{10};  // less than the term: nobody else leads yet
constexpr std::chrono::seconds kLookAgain{2};

class Elected : public Controller {
 public:
  Elected(ControllerContext context, std::vector<Controller*> own, std::string holder)
      : Controller(
            std::move(context), "controller-election",
            {.prefixes = {std::string(kSpace), std::string(kHeld)}, .longest_delay = kLookAgain}),
        own_(std::move(own)),
        holder_(std::move(holder)) {}

 private:
  bool cares(const store::Event& event) const override {
    return event.record->key() == kSpace || event.record->key() == kHeld;
  }

  void observe(const store::Event& event) override {
    if (event.record->key() == kHeld && event.type == store::EventType::kPut) {
      // The time counts from the moment when a renewal is seen, so that clocks need not agree.
      seen_ = event.record->mod_revision;
      seen_at_ = steady_clock::now();
      if (is_started_) return;  // it looks again by itself
    }
    is_started_ = true;
    enqueue(std::string(kHeld));
  }

  Task<Result<void>> reconcile(std::string key) override {
    const store::RecordPtr record = store().get(kHeld);
    Value lease = record ? parse_stored(*record) : Value::object();
    const steady_clock::time_point now = steady_clock::now();
    const bool is_mine = lease["spec"]["holderIdentity"].as_string() == holder_;
    const bool is_over = record && record->mod_revision == seen_ && now - seen_at_ >= kTerm;
    if (record && !is_mine && !is_over) {
      follow();
      enqueue_after(std::move(key), kLookAgain);
      co_return Result<void>();
    }
    describe(lease, record.get(), is_mine);
    std::string method = record ? "PUT" : "POST";
    std::string target = record ? cat(kElectionPath, "/", kLeaseName) : std::string(kElectionPath);
    Loopback::Reply reply = co_await api().send(std::move(method), std::move(target),
                                                std::move(lease));
    if (!reply.ok()) {
      if (reply.status == 409 || now - renewed_ >= kGiveUpAfter) follow();
      enqueue_after(std::move(key), std::chrono::seconds(1));
      co_return Result<void>();
    }
    renewed_ = now;
    Result<void> leads = lead();
    enqueue_after(std::move(key), kRenewEvery);
    co_return leads;
  }

  // With the revision that was read: of two servers that take it, one succeeds.
  void describe(Value& lease, const store::Record* record, bool is_mine) const {
    const std::string now = rfc3339_micro(context().clock.now());
    lease.set("apiVersion", "coordination.k8s.io/v1");
    lease.set("kind", "Lease");
    Value& metadata = lease.member("metadata");
    metadata.set("name", kLeaseName);
    metadata.set("namespace", "kube-system");
    if (record) metadata.set("resourceVersion", std::to_string(record->mod_revision));
    const std::int64_t transitions = lease["spec"]["leaseTransitions"].as_int();
    Value since = is_mine ? lease["spec"]["acquireTime"] : Value(now);
    lease.set("spec", Value::object({{"holderIdentity", holder_},
                                     {"leaseDurationSeconds", kTerm.count()},
                                     {"acquireTime", std::move(since)},
                                     {"renewTime", now},
                                     {"leaseTransitions", transitions + (is_mine ? 0 : 1)}}));
  }

  Result<void> lead() {
    if (!std::exchange(leads_, true)) tell("this server runs the controllers");
    for (Controller* c : own_)
      if (auto ok = c->step_in(Aside::kNotElected); !ok) return ok;
    return {};
  }

  void follow() {
    if (std::exchange(leads_, false)) tell("this server runs the controllers no longer");
    for (Controller* c : own_) c->step_aside(Aside::kNotElected);
  }

  void tell(const std::string& line) const {
    if (context().notice) context().notice(line);
  }

  const std::vector<Controller*> own_;
  const std::string holder_;
  bool is_started_ = false;
  bool leads_ = false;
  store::Revision seen_ = 0;
  steady_clock::time_point seen_at_{};
  steady_clock::time_point renewed_{};
};

}  // namespace

std::unique_ptr<Controller> elected(ControllerContext context, std::vector<Controller*> own,
                                    std::string holder) {
  // Until it is known who leads nothing is done.
  for (Controller* c : own) c->step_aside(Aside::kNotElected);
  return std::make_unique<Elected>(std::move(context), std::move(own), std::move(holder));
}

}  // namespace cardea::rest
