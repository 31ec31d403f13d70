#pragma once
#include <string>

#include "json/value.h"

namespace cardea::app {

// The status of an ImpersonationReview for people: each mode, each question with its answer, and
// the rules that are missing.
std::string impersonation_text(const json::Value& status);

}  // namespace cardea::app
