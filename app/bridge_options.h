#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "rest/bridge/bridge.h"
#include "upstream/authorizer_factory.h"

namespace CLI {
class App;
}

namespace cardea::app {

// The cluster that gets bridged answers (docs/bridge.md). Without a kubeconfig there is none.
struct BridgeOptions {
  std::string kubeconfig;
  std::string configuration, webhook;
  std::vector<std::string> askers;
  std::chrono::milliseconds longest{5'000};            // how old a check may be
  std::chrono::milliseconds longest_request{120'000};  // from authorization to admission

  bool is_on() const { return !kubeconfig.empty(); }
};

// The flags as they stand on the command line. Outlives the reading of the line.
struct BridgeFlags {
  std::string kubeconfig, webhook = "cardea-bridge/bridge.cardea.dev", longest = "5s",
                          longest_request = "2m0s";
  std::vector<std::string> askers;
};

void declare_bridge(CLI::App& app, BridgeFlags& flags);
Result<BridgeOptions> read_bridge(const BridgeFlags& flags);

// Reads the kubeconfig; null without one. Everything that is passed outlives the result.
Result<std::unique_ptr<rest::bridge::Bridge>> make_bridge(
    const BridgeOptions& options, const upstream::WebhookSurroundings& surroundings,
    const Log& log);

}  // namespace cardea::app
