#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "audit/outlet.h"
#include "base/clock.h"

namespace cardea::audit {

struct LogSinkOptions {
  std::string path;             // `-` for standard output
  std::uint64_t max_bytes = 0;  // of one file; 0: it grows without end
  int max_backups = 0;          // older ones are removed; 0: all are kept
  int max_age_days = 0;         // by the time in their names; 0: all are kept
  bool compresses = false;      // older ones, by gzip
};

// Appends lines to a file that only its owner can read. A file that would grow too large is first
// renamed after the time, `audit-2026-11-15T16-00-00.000.log`, as kube-apiserver names them. Old
// files are compressed and removed on a thread of its own. A line that could not be written whole
// is taken back, so that the next one begins where a line begins. The clock outlives it.
Result<std::unique_ptr<Sink>> make_log_sink(LogSinkOptions options, const Clock& clock,
                                            Outlet::Log log);

}  // namespace cardea::audit
