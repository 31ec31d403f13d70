#pragma once

namespace cardea::app {

// `cardea can-i VERB RESOURCE [NAME]`: asks a server, through a kubeconfig, whether a request
// is allowed and under which conditions. Exits with 0 for yes, 1 for no, 3 for "yes, if", 2
// when it cannot ask.
int can_i_command(int argc, char** argv);

}  // namespace cardea::app
