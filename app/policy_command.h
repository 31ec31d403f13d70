#pragma once

namespace cardea::app {

// `cardea policy migrate [FILE...]`: prints what policy documents mean as RBAC objects and access
// policies, and says on the standard error what changes. Exits with 0, with 1 when the documents
// are not valid, with 2 when they cannot be read.
int policy_migrate_command(int argc, char** argv);

}  // namespace cardea::app
