#include "app/admission_settings.h"

#include <filesystem>

#include "admission/admission_config.h"
#include "app/data_directory.h"
#include "base/strings.h"

namespace cardea::app {

Result<admission::Settings> admission_settings(const ServeOptions& o) {
  admission::Settings out{.not_ready_toleration_seconds = o.not_ready_toleration_seconds,
                          .unreachable_toleration_seconds = o.unreachable_toleration_seconds};
  if (o.admission_config_file.empty()) return out;
  const std::filesystem::path file = o.admission_config_file;
  auto text = read_file(file.string());
  if (!text) return fail(text.error());
  // As in kube-apiserver, a path in the file begins where the file is.
  auto beside = [&](const std::string& path) {
    return read_file((file.parent_path() / path).string());
  };
  if (auto ok = admission::read_admission_config(*text, beside, out); !ok)
    return fail(internal_error(
        cat("--admission-control-config-file ", file.string(), ": ", ok.error().message)));
  return out;
}

}  // namespace cardea::app
