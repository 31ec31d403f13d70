#pragma once

namespace cardea::app {

// `cardea store backup`: all objects of a running server, or of a stopped one, into one file.
int store_backup_command(int argc, char** argv);

// `cardea store restore`: the store of a stopped server from such a file.
int store_restore_command(int argc, char** argv);

}  // namespace cardea::app
