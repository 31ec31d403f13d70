#pragma once
#include <string>

#include "json/value.h"

namespace cardea::app {

class CommandLine;

// Declares `-o,--output json|yaml|table`. `form` has the default.
void declare_output(CommandLine& line, std::string& form);

// Prints `document` where `form` is json or yaml. False for a table, which the command prints.
bool print_document(const std::string& form, const json::Value& document);

}  // namespace cardea::app
