#pragma once

namespace cardea::app {

// `cardea serve`: runs until a signal stops it. Exit status: 0 after a clean stop, 1 when it
// could not start, 2 when the flags are wrong.
int serve(int argc, char** argv);

}  // namespace cardea::app
