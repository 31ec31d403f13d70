#pragma once
#include "json/value.h"

namespace cardea::json {

// metav1.LabelSelector: {matchLabels, matchExpressions}. Pure functions on the document itself.

// Whether the selector picks these labels (an object of strings, or null). A null selector picks
// nothing, an empty one everything. An operator that is not known picks nothing.
bool selector_matches(const Value& selector, const Value& labels);

bool selector_is_empty(const Value& selector);  // {} or without any requirement

}  // namespace cardea::json
