#pragma once
#include "base/random.h"
#include "net/dialer.h"
#include "net/loop.h"

namespace cardea {
class MetricRegistry;
}

namespace cardea::admission {

// The parts that plugins need to call other servers. All of them must outlive the plugins.
struct Outside {
  net::Loop& loop;              // where calls are made and answers arrive
  net::Dialer& dialer;          // to webhooks with a URL
  net::Dialer& service_dialer;  // to services of the cluster
  Random& random;
  MetricRegistry& metrics;
};

}  // namespace cardea::admission
