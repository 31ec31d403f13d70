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

// Appends lines to a file that only its owner can read. A file that would grow too large is
// first renamed with the time, `audit-2026-11-15T16-00-00.000.log`, as in kube-apiserver. Old
// files are compressed and removed on a separate thread. A line that was only partly written is
// removed, so that the next line begins at the start of a line. The clock must outlive it.
Result<std::unique_ptr<Sink>> make_log_sink(LogSinkOptions options, const Clock& clock,
                                            Outlet::Log log);

}  // namespace cardea::audit
