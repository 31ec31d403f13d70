#pragma once
#include <memory>

#include "admission/plugin.h"
#include "rest/policy/policy_store.h"

namespace cardea::rest::policy {

// Gives a dry run the store's answer to the deletion of a role that is bound or of a container
// that is not empty. The store must outlive it.
std::unique_ptr<admission::Plugin> check_dry_deletion(const PolicyStore& store);

}  // namespace cardea::rest::policy
