#pragma once

namespace cardea::app {

// `cardea whoami`: the user that a server takes the caller for.
int whoami_command(int argc, char** argv);

}  // namespace cardea::app
