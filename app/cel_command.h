#pragma once

namespace cardea::app {

// `cardea cel eval EXPR ...` and `cardea cel conform PATH...`. argv[0] is "cel"; returns the exit
// code: 0 for a value or residual, 1 for an evaluation error (or a failed case), 2 when it does not
// compile or the call is wrong.
int cel_command(int argc, char** argv);

}  // namespace cardea::app
