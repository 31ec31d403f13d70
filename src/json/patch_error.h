#pragma once
#include <string>

#include "json/value.h"

namespace cardea::json {

// Why an operation of a JSON patch does not apply to a document, in the words of the library
// Kubernetes uses.
std::string patch_error(const Value& document, const Value& operation);

}  // namespace cardea::json
