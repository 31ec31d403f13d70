#pragma once
#include <filesystem>
#include <string>

#include "json/value.h"

namespace cardea::json {

// The folder of the recorded conversations with a real kube-apiserver.
std::filesystem::path recordings();

// One of them; the test program stops if it cannot be read.
Value recorded(const std::string& name);

}  // namespace cardea::json
