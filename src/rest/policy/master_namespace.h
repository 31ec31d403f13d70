#pragma once
#include <memory>
#include <string>

#include "admission/plugin.h"
#include "base/result.h"
#include "rest/loopback.h"

namespace cardea::rest::policy {

// Keeps the master namespace of namespace policy from being deleted.
std::unique_ptr<admission::Plugin> keep_master_namespace(std::string master);

// Creates the master namespace with its Policy, its PolicyBinding and its roles view, edit,
// admin and cluster-admin. Changed rules of these roles are restored; other roles are not
// touched. From outside the loops.
Result<void> ensure_master_namespace(const Loopback& api, const std::string& master);

}  // namespace cardea::rest::policy
