#pragma once
#include <chrono>
#include <memory>
#include <string>

#include "audit/outlet.h"
#include "base/random.h"
#include "net/dialer.h"
#include "net/loop.h"

namespace cardea::net {
class FileWatch;
}

namespace cardea::audit {

struct WebhookSinkOptions {
  std::string config_file;  // a kubeconfig
  std::chrono::nanoseconds initial_backoff = std::chrono::seconds(10);
  int tries = 5;  // each waits half as long again as the one before, and a little more by chance
  std::chrono::milliseconds timeout{30'000};  // of one try
};

// Posts events as an EventList. Every failed call is repeated, so that a receiver that recovers
// gets the events. Any 2xx is a success; the body of the answer is ignored. Several threads may
// write at once. The loop, which must be running, and the other parts must outlive it; the
// token is renewed when its file changes.
Result<std::unique_ptr<Sink>> make_webhook_sink(WebhookSinkOptions options, net::Loop& loop,
                                                net::Dialer& dialer, Random& random,
                                                net::FileWatch& files);

}  // namespace cardea::audit
