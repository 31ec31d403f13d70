#pragma once

namespace cardea::app {

// `cardea policy migrate [FILE...]`: prints policy documents as RBAC objects and access
// policies with the same meaning, and lists the differences on standard error. Exits with 0,
// with 1 when the documents are not valid, with 2 when they cannot be read.
int policy_migrate_command(int argc, char** argv);

// `cardea policy check [FILE...]`: prints what is wrong with policy documents, and words in them
// that mean nothing.
int policy_check_command(int argc, char** argv);

}  // namespace cardea::app
