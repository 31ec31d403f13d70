#pragma once
#include <string>

#include "app/options.h"
#include "rest/boot/built_in_authorizers.h"

namespace cardea::app {

// What --policy-master-namespace and the file of --policy-config tell namespace policy.
Result<rest::NamespacePolicySettings> namespace_policy_settings(const ServeOptions& options);

}  // namespace cardea::app
