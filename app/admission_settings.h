#pragma once
#include "admission/settings.h"
#include "app/options.h"
#include "base/result.h"

namespace cardea::app {

// What the flags and the file of --admission-control-config-file say about plugins.
Result<admission::Settings> admission_settings(const ServeOptions& options);

}  // namespace cardea::app
