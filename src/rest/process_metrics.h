#pragma once
#include "base/metric_printer.h"

namespace cardea::rest {

// What the system knows of this process, by the names that every Prometheus client uses:
// processor time, memory, descriptors, the start.
void print_process(MetricPrinter& out);

}  // namespace cardea::rest
