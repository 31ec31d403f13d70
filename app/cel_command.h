#pragma once

namespace cardea::app {

// `cardea cel eval EXPRESSION`. Exits with 0 for a value or residual, 1 for an evaluation error, 2
// when the expression does not compile or the call is wrong.
int cel_eval_command(int argc, char** argv);

// `cardea cel conform PATH...`. Exits with 0, 1 when a case fails, 2 when the call is wrong.
int cel_conform_command(int argc, char** argv);

}  // namespace cardea::app
