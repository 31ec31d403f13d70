#pragma once

// libcardea decides, inside your program, which users may send which requests to a Kubernetes-style
// API, under which conditions, down to single fields. docs/library.md is the guide; c.h is the same
// for C.
//
// Rules of the whole interface:
//   - C++17 is enough. Only types of the standard library come and go.
//   - No exception leaves it: what can fail gives a Result, what decides gives a Decision.
//   - An error is never an allow.
//   - No file is read, no connection opened, no thread started. (Two functions of CEL that convert
//     times between zones read the zone files of the system.)

#include "cardea/cel.h"
#include "cardea/decision.h"
#include "cardea/engine.h"
#include "cardea/fields.h"
#include "cardea/result.h"
#include "cardea/version.h"
