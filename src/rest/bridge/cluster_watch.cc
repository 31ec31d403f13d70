#include "rest/bridge/cluster_watch.h"

#include <atomic>

#include "base/names.h"
#include "base/strings.h"
#include "json/parse.h"
#include "json/print.h"

namespace cardea::rest::bridge {
namespace {

using json::Value;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTimeout{2'000};  // of one call

struct Said {
  int status = 0;
  Value document;
};

Task<Result<Said>> call_cluster(std::shared_ptr<upstream::EndpointClient> cluster,
                                std::string method, std::string path, Value document) {
  std::string body = document.is_null() ? std::string() : json::print(document);
  Result<http::Answer> answer = co_await await_callback<Result<http::Answer>>(
      [cluster, &method, &path, &body](auto done) {
        cluster->call(method, path, std::move(body), kTimeout, std::move(done));
      });
  if (!answer) co_return fail(answer.error());
  auto parsed = json::parse(answer->body);
  if (!parsed || !parsed->is_object())
    co_return fail(internal_error(cat("the answer with status ", answer->status, " is not JSON")));
  co_return Said{answer->status, std::move(*parsed)};
}

Task<Result<Value>> read_from(std::shared_ptr<upstream::EndpointClient> cluster, std::string path) {
  Result<Said> said = co_await call_cluster(std::move(cluster), "GET", path, Value());
  if (!said) co_return fail(internal_error(cat("GET ", path, ": ", said.error().message)));
  if (said->status != 200)
    co_return fail(internal_error(
        cat("GET ", path, ": ", said->status, " ", said->document["message"].as_string())));
  co_return std::move(said->document);
}

Value admission_probe(std::string_view secret) {
  return Value::object(
      {{"apiVersion", "authentication.k8s.io/v1"},
       {"kind", "SelfSubjectReview"},
       {"metadata",
        Value::object({{"annotations", Value::object({{Probe::kAnnotation, secret}})}})}});
}

Value question_probe(std::string_view secret, std::string_view verb) {
  return Value::object(
      {{"apiVersion", "authorization.k8s.io/v1"},
       {"kind", "SelfSubjectAccessReview"},
       {"spec", Value::object({{"resourceAttributes", Value::object({{"group", Probe::kGroup},
                                                                     {"version", "v1"},
                                                                     {"resource", Probe::kResource},
                                                                     {"verb", verb},
                                                                     {"name", secret}})}})}});
}

}  // namespace

class ClusterWatch::Checks : public std::enable_shared_from_this<Checks> {
 public:
  Checks(net::Loop& loop, std::shared_ptr<upstream::EndpointClient> cluster, Settings settings,
         Random& random, MetricRegistry& metrics, Tell tell)
      : loop_(loop),
        cluster_(std::move(cluster)),
        settings_(std::move(settings)),
        random_(random),
        tell_(std::move(tell)),
        good_(metrics.counter(kChecks, {{"result", "usable"}})),
        bad_(metrics.counter(kChecks, {{"result", "unusable"}})),
        usable_(metrics.gauge(
            {"cardea_bridge_usable", "Whether conditional answers are bridged to the cluster."})) {
    usable_.set(0);
  }

  // On the loop.
  void start() {
    timer_ = std::make_unique<net::Timer>(loop_, [this] { begin(); });
    begin();
  }
  void stop() {
    is_stopped_ = true;
    verdict_.set(std::make_shared<const Verdict>(Verdict{.trouble = "stopped"}));
  }
  void forget_timer() { timer_.reset(); }

  const std::shared_ptr<const Verdict>& verdict() const { return verdict_.get(); }
  const Settings& settings() const { return settings_; }
  const std::shared_ptr<upstream::EndpointClient>& cluster() const { return cluster_; }
  Probe probe;

 private:
  static constexpr MetricRegistry::Family kChecks{
      "cardea_bridge_checks_total",
      "Checks whether the cluster's admission stands behind the "
      "bridge."};

  void begin() {
    spawn(check(shared_from_this()), [](bool) {});
  }

  static Task<bool> check(std::shared_ptr<Checks> self) {
    const Clock::time_point began = Clock::now();
    Result<Coverage> found = co_await self->looked();
    Verdict next{.coverage = nullptr, .trouble = "", .began = began};
    if (found)
      next.coverage = std::make_shared<const Coverage>(std::move(*found));
    else
      next.trouble = found.error().message;
    if (self->is_stopped_) co_return false;
    self->publish(std::move(next));
    if (self->timer_) self->timer_->start(self->settings_.period);
    co_return true;
  }

  void publish(Verdict next) {
    const bool is_usable = next.coverage != nullptr;
    (is_usable ? good_ : bad_).add();
    usable_.set(is_usable ? 1 : 0);
    const std::shared_ptr<const Verdict> last = verdict_.get();
    const bool is_new = is_usable != (last->coverage != nullptr) || next.trouble != last->trouble;
    const std::string trouble = next.trouble;
    verdict_.set(std::make_shared<const Verdict>(std::move(next)));
    if (is_new && tell_) tell_(is_usable, trouble);
  }

  Task<Result<Coverage>> looked() {
    Result<Value> configuration = co_await read_from(
        cluster_, cat("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/",
                      settings_.configuration));
    if (!configuration) co_return fail(configuration.error());
    Result<Value> services = co_await read_from(cluster_,
                                                "/apis/apiregistration.k8s.io/v1/apiservices");
    if (!services) co_return fail(services.error());
    Result<Coverage> coverage = Coverage::read(*configuration, settings_.webhook, *services);
    if (!coverage) co_return fail(coverage.error());
    const std::string secret = probe.begin(random_);
    Result<void> reviewed = co_await try_admission(secret);
    if (!reviewed) co_return fail(reviewed.error());
    for (std::string_view verb : {Probe::kAllowedVerb, Probe::kSilentVerb})
      for (int times = 1; times <= 2; ++times) {
        Result<void> asked = co_await try_authorization(secret, verb, times);
        if (!asked) co_return fail(asked.error());
      }
    co_return std::move(*coverage);
  }

  Task<Result<void>> try_admission(std::string secret) {
    Result<Said> said = co_await call_cluster(cluster_, "POST",
                                              "/apis/authentication.k8s.io/v1/selfsubjectreviews",
                                              admission_probe(secret));
    if (!said)
      co_return fail(internal_error(cat("the probe of admission: ", said.error().message)));
    const std::string_view message = said->document["message"].as_string();
    if (said->status < 300)
      co_return fail(
          internal_error("the cluster's admission lets a probe pass that the webhook refuses"));
    if (probe.seen().reviews != 1 || !message.contains(secret))
      co_return fail(internal_error(
          cat("the cluster's admission does not reach this server: ", said->status, " ", message)));
    co_return Result<void>();
  }

  Task<Result<void>> try_authorization(std::string secret, std::string_view verb, int times) {
    Result<Said> said = co_await call_cluster(
        cluster_, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        question_probe(secret, verb));
    if (!said)
      co_return fail(internal_error(cat("the probe of authorization: ", said.error().message)));
    if (said->status >= 300)
      co_return fail(internal_error(cat("the probe of authorization: ", said->status, " ",
                                        said->document["message"].as_string())));
    const bool is_allowed = verb == Probe::kAllowedVerb;
    const Probe::Seen seen = probe.seen();
    const int asked = is_allowed ? seen.allowed : seen.silent;
    if (asked == times && said->document["status"]["allowed"].as_bool() == is_allowed)
      co_return Result<void>();
    if (asked == 1 && times == 2)
      co_return fail(internal_error(
          cat("the cluster's authorization keeps answers: set ",
              is_allowed ? "cacheAuthorizedRequests" : "cacheUnauthorizedRequests", " to false")));
    co_return fail(
        internal_error("the cluster's authorization does not ask this server by one of "
                       "--bridge-askers, or another "
                       "authorizer decides about the bridge's own requests"));
  }

  net::Loop& loop_;
  const std::shared_ptr<upstream::EndpointClient> cluster_;
  const Settings settings_;
  Random& random_;
  const Tell tell_;
  Counter &good_, &bad_;
  Gauge& usable_;
  std::unique_ptr<net::Timer> timer_;
  std::atomic<bool> is_stopped_{false};
  Snapshot<Verdict> verdict_{std::make_shared<const Verdict>()};
};

ClusterWatch::ClusterWatch(net::Loop& loop, std::shared_ptr<upstream::EndpointClient> cluster,
                           Settings settings, Random& random, MetricRegistry& metrics, Tell tell)
    : checks_(std::make_shared<Checks>(loop, std::move(cluster), std::move(settings), random,
                                       metrics, std::move(tell))),
      loop_(loop) {}

ClusterWatch::~ClusterWatch() {
  stop();
}

void ClusterWatch::start() {
  loop_.post([checks = checks_] { checks->start(); });
}

void ClusterWatch::stop() {
  checks_->stop();
  // The timer belongs to the loop.
  loop_.post([checks = checks_] { checks->forget_timer(); });
}

bool ClusterWatch::covers(const authz::Attributes& attributes) const {
  const std::shared_ptr<const Verdict> verdict = checks_->verdict();
  const Coverage* coverage = verdict->at(Clock::now(), checks_->settings().longest);
  return coverage && coverage->covers(attributes);
}

std::string ClusterWatch::trouble() const {
  const std::shared_ptr<const Verdict> verdict = checks_->verdict();
  if (!verdict->coverage) return verdict->trouble;
  if (!verdict->at(Clock::now(), checks_->settings().longest)) return "the last check is too old";
  return "";
}

Probe& ClusterWatch::probe() const {
  return checks_->probe;
}

Task<Result<Value>> ClusterWatch::namespace_object(std::string name) const {
  if (!dns_label_problems(name).empty()) co_return fail(bad_request("not a name of a namespace"));
  net::Loop* back = net::Loop::current();
  Result<Value> found = co_await read_from(checks_->cluster(), cat("/api/v1/namespaces/", name));
  if (back) {
    bool there = co_await await_callback<bool>(
        [back](auto done) { back->post([done]() mutable { done(true); }); });
    (void)there;
  }
  co_return found;
}

}  // namespace cardea::rest::bridge
