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

// What webhook authorizers are made with; all of it outlives them.
struct WebhookSurroundings {
  net::Loop& loop;  // where answers are waited for
  net::Dialer& dialer;
  net::FileWatch& files;  // tells of new tokens
  const Clock& clock;
  Random& random;
  MetricRegistry& metrics;
};

// Makes the authorizer that a valid configuration describes: reads its kubeconfig, begins with an
// empty cache.
Result<std::shared_ptr<const authz::Authorizer>> make_webhook_authorizer(
    const authz::AuthorizerConfig& config, const WebhookSurroundings& surroundings);

}  // namespace cardea::upstream
