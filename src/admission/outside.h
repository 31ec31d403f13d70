#pragma once
#include "base/random.h"
#include "net/dialer.h"
#include "net/loop.h"

namespace cardea {
class MetricRegistry;
}

namespace cardea::admission {

// What plugins that ask others need. Everything outlives them.
struct Outside {
  net::Loop& loop;  // where calls are made and answers arrive
  net::Dialer& dialer;
  Random& random;
  MetricRegistry& metrics;
};

}  // namespace cardea::admission
