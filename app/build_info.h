#pragma once
#include "rest/present/self_description.h"

namespace cardea::app {

// The sources that this program was built from.
const rest::BuildInfo& build_info();

}  // namespace cardea::app
