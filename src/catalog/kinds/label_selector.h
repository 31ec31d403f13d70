#pragma once
#include <string>

#include "catalog/kinds/path.h"
#include "json/field_error.h"
#include "json/label_selector.h"
#include "json/value.h"

namespace cardea::catalog {

// What a kind's rules say about its label selectors; json/label_selector.h says what they pick.

// Absent (null) selectors are fine here; whether one is required is the kind's business.
void validate_label_selector(const json::Value& selector, const Path& path, json::FieldErrors& out);

// False for a selector that could not be turned into requirements: a bad operator, key or value.
bool selector_is_usable(const json::Value& selector);

// The selector as an error message shows it.
std::string show_selector(const json::Value& selector);

}  // namespace cardea::catalog
