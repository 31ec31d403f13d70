#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cardea::app {

// The switches of --feature-gates. A value.
class FeatureGates {
 public:
  // From entries like `ConstrainedImpersonation=true`. Unknown names, values that are neither true
  // nor false, two values for one gate and a locked gate's other value are errors.
  static Result<FeatureGates> parse(const std::vector<std::string>& entries);

  bool on(std::string_view name) const;
  // Gates that were requested but are not available yet, one sentence each.
  const std::vector<std::string>& warnings() const { return warnings_; }

  static std::string help();  // one line per gate

 private:
  std::map<std::string, bool, std::less<>> set_;
  std::vector<std::string> warnings_;
};

}  // namespace cardea::app
