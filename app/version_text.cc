#include "app/version_text.h"

#include "app/build_info.h"
#include "base/strings.h"
#include "cardea/version.h"

namespace cardea::app {

std::string version_text() {
  const rest::BuildInfo& build = build_info();
  std::string text = "cardea " CARDEA_VERSION " (Kubernetes 1.36)";
  if (!build.commit.empty()) {
    text += cat(", commit ", std::string_view(build.commit).substr(0, 12));
    text += build.tree_state == "clean" ? cat(" of ", std::string_view(build.date).substr(0, 10))
                                        : " with changes";
  }
  return cat(text, ", built with clang ", __clang_major__, ".", __clang_minor__);
}

}  // namespace cardea::app
