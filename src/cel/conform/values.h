#pragma once
#include <string>

#include "cel/environment.h"
#include "cel/eval/value.h"
#include "json/value.h"

namespace cardea::cel::conform {

// Typed values and types as the case files write them: {"int":"1"}, {"list":[...]},
// {"map":["string","dyn"]}.
bool read_value(cel::Arena& arena, const json::Value& text, cel::Value& out);
const cel::Type* read_type(cel::TypePool& types, const json::Value& text);
// Equal values of the same kinds, with all their parts; NaN equals NaN.
bool same_value(const cel::Value& a, const cel::Value& b);

}  // namespace cardea::cel::conform
