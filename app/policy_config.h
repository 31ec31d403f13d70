#pragma once
#include <string>

#include "app/options.h"
#include "rest/boot/built_in_authorizers.h"

namespace cardea::app {

// The settings of namespace policy from --policy-master-namespace and the file of --policy-config.
Result<rest::NamespacePolicySettings> namespace_policy_settings(const ServeOptions& options);

}  // namespace cardea::app
