#pragma once

namespace cardea::app {

// `cardea suggest-role --audit-log FILE --user U`: prints the smallest roles that cover the
// changes of a user in an audit log. Exits with 0, 1 when the user changed nothing, 2 when the
// log cannot be read.
int suggest_role_command(int argc, char** argv);

}  // namespace cardea::app
