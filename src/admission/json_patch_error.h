#pragma once
#include <string>

#include "json/value.h"

namespace cardea::admission {

// Why one operation of a JSON patch does not apply to a document, in the words of the library
// Kubernetes uses.
std::string json_patch_error(const json::Value& document, const json::Value& operation);

}  // namespace cardea::admission
