#pragma once
#include <string>

#include "catalog/kinds/path.h"
#include "json/field_error.h"
#include "json/value.h"

namespace cardea::catalog {

// metav1.LabelSelector: {matchLabels, matchExpressions}. Pure functions on the document itself.

// Absent (null) selectors are fine here; whether one is required is the kind's business.
void validate_label_selector(const json::Value& selector, const Path& path, json::FieldErrors& out);

// Whether the selector picks these labels (an object of strings, or null). A null selector picks
// nothing, an empty one everything. An operator that is not known picks nothing.
bool selector_matches(const json::Value& selector, const json::Value& labels);

bool selector_is_empty(const json::Value& selector);  // {} or without any requirement
// False for a selector that could not be turned into requirements: a bad operator, key or value.
bool selector_is_usable(const json::Value& selector);

// The selector as an error message shows it.
std::string show_selector(const json::Value& selector);

}  // namespace cardea::catalog
