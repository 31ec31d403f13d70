#pragma once

namespace cardea::app {

// `cardea explain-permissions RESOURCE`: the permissions on the fields of a resource, from the
// compiled-in schemas, a definition in a file or a server. Exits with 0, with 1 if there is no such
// resource, with 2 if the answer cannot be found.
int explain_permissions_command(int argc, char** argv);

}  // namespace cardea::app
