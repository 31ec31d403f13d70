#pragma once

namespace cardea::app {

// `cardea suggest-role --audit-log FILE --user U`: the smallest roles that cover what a user
// changed, by an audit log. Exits with 0, 1 when the user changed nothing, 2 when it cannot tell.
int suggest_role_command(int argc, char** argv);

}  // namespace cardea::app
