#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/metrics.h"
#include "base/random.h"
#include "base/snapshot.h"
#include "base/task.h"
#include "rest/bridge/coverage.h"
#include "rest/bridge/probe.h"
#include "upstream/endpoint_client.h"

namespace cardea::rest::bridge {

// What the last check of the cluster found. Immutable.
struct Verdict {
  using Time = std::chrono::steady_clock::time_point;
  std::shared_ptr<const Coverage> coverage;  // null: nothing is bridged
  std::string trouble = "not checked yet";   // why not
  Time began = {};                           // the check, before its first request

  // The requests that are covered at `now`; null when there are none. An old verdict counts as
  // none.
  const Coverage* at(Time now, std::chrono::milliseconds longest) const {
    return coverage && now - began < longest ? coverage.get() : nullptr;
  }
};

// Checks again and again whether the cluster's admission stands behind the bridge: reads the
// webhook's configuration and the list of APIServices, then sends probes through the cluster. One
// step that fails ends the check: nothing is bridged until the next check is whole. The loop
// outlives it.
class ClusterWatch {
 public:
  struct Settings {
    std::string configuration;          // the name of the ValidatingWebhookConfiguration
    std::string webhook;                // and of its entry
    std::chrono::milliseconds period;   // from the end of one check to the next
    std::chrono::milliseconds longest;  // how old a verdict may be
  };
  using Tell = std::function<void(bool is_usable, const std::string& trouble)>;

  // `tell` is called on the loop when the verdict changes.
  ClusterWatch(net::Loop& loop, std::shared_ptr<upstream::EndpointClient> cluster,
               Settings settings, Random& random, MetricRegistry& metrics, Tell tell);
  ~ClusterWatch();

  void start();  // once
  // No check any more: nothing is bridged. Any thread.
  void stop();

  // Any thread.
  bool covers(const authz::Attributes& attributes) const;
  std::string trouble() const;  // empty: the bridge is usable
  Probe& probe() const;
  // The object of a namespace of the cluster. Continues on the loop of the caller.
  Task<Result<json::Value>> namespace_object(std::string name) const;

 private:
  class Checks;
  std::shared_ptr<Checks> checks_;
  net::Loop& loop_;
};

}  // namespace cardea::rest::bridge
