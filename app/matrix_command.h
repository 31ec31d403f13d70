#pragma once

namespace cardea::app {

// `cardea matrix`: what a user may do to each resource.
int matrix_command(int argc, char** argv);

}  // namespace cardea::app
