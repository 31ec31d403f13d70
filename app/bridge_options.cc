#include "app/bridge_options.h"

#include <CLI/CLI.hpp>

#include "app/serving_options.h"
#include "base/strings.h"
#include "base/time_parse.h"
#include "upstream/endpoint_client.h"
#include "upstream/kubeconfig.h"

namespace cardea::app {
namespace {

constexpr int kChecksPerAge = 5;               // a slow check, or one that is lost, does not matter
constexpr std::size_t kMaxAnswer = 16u << 20;  // of the cluster

}  // namespace

void declare_bridge(CLI::App& app, BridgeFlags& f) {
  constexpr const char* kGroup = "Bridge to a cluster";
  auto text = [&](const char* name, std::string& to, const char* what, const char* help) {
    app.add_option(name, to, help)->type_name(what)->group(kGroup)->capture_default_str();
  };
  text("--bridge-kubeconfig", f.kubeconfig, "FILE",
       "a kubeconfig for a cluster that asks this server by SubjectAccessReview: its conditional "
       "answers are settled by the cluster's admission, where the server finds that the cluster's "
       "webhook stands behind them");
  text("--bridge-webhook", f.webhook, "CONFIGURATION/WEBHOOK",
       "the ValidatingWebhookConfiguration of the cluster and the entry in it that lead here");
  app.add_option("--bridge-askers", f.askers,
                 "the users as which the cluster's kube-apiservers ask. Only they get bridged "
                 "answers")
      ->allow_extra_args(false)
      ->type_name("LIST")
      ->group(kGroup);
  text("--bridge-max-check-age", f.longest, "DURATION",
       "how old the last good check of the cluster may be; five are made in this time");
  text("--bridge-longest-request", f.longest_request, "DURATION",
       "how long a request may take in the cluster: more than kube-apiserver's --request-timeout");
}

Result<BridgeOptions> read_bridge(const BridgeFlags& f) {
  auto wrong = [](std::string why) { return fail(bad_request(std::move(why))); };
  BridgeOptions out{.kubeconfig = f.kubeconfig, .configuration = {}, .webhook = {}, .askers = {}};
  for (std::string& asker : flatten(f.askers))
    if (!asker.empty()) out.askers.push_back(std::move(asker));
  const auto names = split(f.webhook, '/');
  if (names.size() != 2 || names[0].empty() || names[1].empty())
    return wrong(cat("--bridge-webhook `", f.webhook, "` is not CONFIGURATION/WEBHOOK"));
  out.configuration = names[0];
  out.webhook = names[1];
  auto longest = parse_duration(f.longest);
  if (!longest || *longest < std::chrono::milliseconds(100) || *longest > std::chrono::minutes(1))
    return wrong(
        cat("--bridge-max-check-age `", f.longest, "` is not a duration between 100ms and 1m"));
  out.longest = std::chrono::duration_cast<std::chrono::milliseconds>(*longest);
  auto request = parse_duration(f.longest_request);
  if (!request || *request < std::chrono::seconds(1) || *request > std::chrono::hours(1))
    return wrong(cat("--bridge-longest-request `", f.longest_request,
                     "` is not a duration between 1s and 1h"));
  out.longest_request = std::chrono::duration_cast<std::chrono::milliseconds>(*request);
  if (out.is_on() && out.askers.empty())
    return wrong("--bridge-kubeconfig needs --bridge-askers: nobody would get bridged answers");
  if (!out.is_on() && !out.askers.empty())
    return wrong("--bridge-askers needs --bridge-kubeconfig: the bridge has to see the cluster");
  return out;
}

Result<std::unique_ptr<rest::bridge::Bridge>> make_bridge(const BridgeOptions& o,
                                                          const upstream::WebhookSurroundings& s,
                                                          const Log& log) {
  if (!o.is_on()) return nullptr;
  auto endpoint = upstream::read_kubeconfig(o.kubeconfig);
  if (!endpoint)
    return fail(
        Error::of(endpoint.error().reason, cat("--bridge-kubeconfig: ", endpoint.error().message)));
  auto cluster = upstream::EndpointClient::make(s.loop, s.dialer, std::move(*endpoint), kMaxAnswer,
                                                &s.files);
  if (!cluster) return fail(cluster.error());
  auto tell = [&log](bool is_usable, const std::string& trouble) {
    if (is_usable)
      log.write(LogLevel::kInfo, "the bridge is usable: conditional answers go to the cluster");
    else
      log.write(LogLevel::kWarning, "the bridge is not usable: conditional answers are folded",
                {{"reason", trouble}});
  };
  auto watch = std::make_unique<rest::bridge::ClusterWatch>(
      s.loop, std::move(*cluster),
      rest::bridge::ClusterWatch::Settings{.configuration = o.configuration,
                                           .webhook = o.webhook,
                                           .period = o.longest / kChecksPerAge,
                                           .longest = o.longest},
      s.random, s.metrics, std::move(tell));
  return std::make_unique<rest::bridge::Bridge>(o.askers, o.longest_request, std::move(watch),
                                                s.metrics);
}

}  // namespace cardea::app
