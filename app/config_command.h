#pragma once

namespace cardea::app {

// `cardea config validate`: what is wrong with the files that a server would be started with.
int config_validate_command(int argc, char** argv);

}  // namespace cardea::app
