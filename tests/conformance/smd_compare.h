#pragma once
#include <string>

#include "conformance/result.h"

namespace cardea::conformance {

// Runs the changed-field cases of `path` (smd-compare.json), each pair of documents also in reverse. A file
// that cannot be read counts as one failure; a schema that cannot be expressed as schema::Schema is skipped.
ConformanceResult run_smd_compare(const std::string& path);

}  // namespace cardea::conformance
