#pragma once

namespace cardea::app {

// `cardea migrate oidc-flags ARGS...`: prints the configuration file that means what these flags
// mean. Other flags of kube-apiserver may stand among them; they are passed over.
int migrate_oidc_flags_command(int argc, char** argv);

}  // namespace cardea::app
