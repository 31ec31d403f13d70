#pragma once

namespace cardea::app {

// `cardea who-can`: the users and groups that may do something, and through what.
int who_can_command(int argc, char** argv);

}  // namespace cardea::app
