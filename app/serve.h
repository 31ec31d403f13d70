#pragma once

namespace cardea::app {

// `cardea serve`: runs until a signal asks it to stop. Exit status: 0 after a clean stop, 1 when it
// could not start, 2 when the flags make no sense.
int serve(int argc, char** argv);

}  // namespace cardea::app
