#pragma once

namespace cardea::app {

// `cardea explain`: what each authorizer says about a question, and what would help.
int explain_command(int argc, char** argv);

}  // namespace cardea::app
