#pragma once

namespace cardea::app {

// `cardea explain-permissions RESOURCE`: the permissions on the fields of a resource, from the
// compiled-in schemas, a definition in a file or a server. Exits with 0, 1 when there is no such
// resource, 2 when it cannot tell.
int explain_permissions_command(int argc, char** argv);

}  // namespace cardea::app
