#pragma once
#include <span>
#include <string_view>

namespace cardea::app {

// One command of the program.
struct Command {
  std::string_view name;              // "cel eval"
  std::string_view summary;           // what it does, for the list of commands
  int (*run)(int argc, char** argv);  // argv[0] is the last word of its name
};

std::span<const Command> commands();

// Runs what the command line of the program asks for; returns its exit status.
int run(int argc, char** argv);

}  // namespace cardea::app
