#pragma once
#include <memory>
#include <string>
#include <vector>

#include "admission/plugin.h"
#include "base/result.h"
#include "rest/loopback.h"

namespace cardea::rest::policy {

// Keeps the master namespace of namespace policy from being deleted.
std::unique_ptr<admission::Plugin> keep_master_namespace(std::string master);

// How the roles of the master namespace are made.
struct Seeding {
  bool reset = false;                   // whether changes of others are undone
  std::vector<std::string> left_alone;  // out: roles that others changed, and that stay so
};

// Creates the master namespace with its Policy, its PolicyBinding and its roles view, edit,
// admin and cluster-admin. The rules that an earlier version of the server gave these roles are
// brought up to date. Rules that somebody else wrote stay, and so does a role with the annotation
// `rbac.authorization.kubernetes.io/autoupdate: "false"`. Other roles are not touched. From
// outside the loops.
Result<void> ensure_master_namespace(const Loopback& api, const std::string& master,
                                     Seeding& seeding);

}  // namespace cardea::rest::policy
