#pragma once
#include <memory>

#include "authz/authorizer.h"
#include "authz/config/authorization_config.h"
#include "base/clock.h"
#include "base/metrics.h"
#include "base/random.h"
#include "net/dialer.h"
#include "net/file_watch.h"
#include "net/loop.h"

namespace cardea::upstream {

// The parts that webhook authorizers are made with; all of them must outlive the authorizers.
struct WebhookSurroundings {
  net::Loop& loop;  // the loop that waits for answers
  net::Dialer& dialer;
  net::FileWatch& files;  // reports new tokens
  const Clock& clock;
  Random& random;
  MetricRegistry& metrics;
  std::string server_id = {};  // names this server to those that it asks (authz/attributes.h)
};

// Makes the authorizer that a valid configuration describes: reads its kubeconfig, begins with an
// empty cache.
Result<std::shared_ptr<const authz::Authorizer>> make_webhook_authorizer(
    const authz::AuthorizerConfig& config, const WebhookSurroundings& surroundings);

}  // namespace cardea::upstream
