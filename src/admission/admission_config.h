#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "admission/settings.h"
#include "base/result.h"

namespace cardea::admission {

// Reads a file of --admission-control-config-file, an AdmissionConfiguration: the settings of
// PodSecurity and ResourceQuota. `read_file` gives the text of a file that the configuration names.
//
// What this server would not do is an error, never ignored: an unknown field, a plugin that it does
// not have, a plugin that takes no settings.
Result<void> read_admission_config(
    std::string_view text,
    const std::function<Result<std::string>(const std::string& path)>& read_file, Settings& out);

}  // namespace cardea::admission
