#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "authz/config/authorization_config.h"
#include "authz/current_chain.h"
#include "base/clock.h"
#include "base/metrics.h"

namespace cardea::feeds {

// Loads a changed configuration file: builds the chain it describes and makes it the current
// one.
//
// A file with the same meaning changes nothing. A file that is not valid, removes a built-in
// authorizer that was there at the start, or cannot be built leaves the old chain in place and
// is reported. Webhooks of a new chain begin with empty caches. For the thread that watches the
// file.
class ChainReload {
 public:
  using Build = std::function<Result<std::shared_ptr<const authz::Chain>>(
      const authz::AuthorizationConfig& config)>;
  struct Parts {
    authz::CurrentChain& chain;
    Build build;
    MetricRegistry& metrics;
    const Clock& clock;
    std::function<void(const std::string& line)> log;
    std::string server_id;  // in metrics
    authz::AuthorizerTypes types = {};
  };

  // `config` and `text` are what the chain was first made from. The parts outlive it.
  ChainReload(Parts parts, authz::AuthorizationConfig config, std::string_view text);

  // The text of the file, or why it cannot be read.
  void take(const Result<std::string>& text);

 private:
  void count(const char* status);
  void failed(const std::string& why);
  void show_hash(std::string_view text);

  Parts parts_;
  authz::AuthorizationConfig config_;
  const std::vector<std::string> required_types_;
  Gauge* hash_ = nullptr;
};

}  // namespace cardea::feeds
