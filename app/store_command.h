#pragma once

namespace cardea::app {

// `cardea store verify`: reads a database from end to end and says what cannot be read.
int store_verify_command(int argc, char** argv);

// `cardea store copy`: copies all objects from one engine to another.
int store_copy_command(int argc, char** argv);

}  // namespace cardea::app
