#pragma once
#include <string>

#include "catalog/kinds/path.h"
#include "json/field_error.h"
#include "json/label_selector.h"
#include "json/value.h"

namespace cardea::catalog {

// The rules for label selectors in objects; json/label_selector.h evaluates selectors.

// An absent (null) selector is accepted here. The kind decides whether a selector is required.
void validate_label_selector(const json::Value& selector, const Path& path, json::FieldErrors& out);

// False for a selector that cannot be converted to requirements: a bad operator, key or value.
bool selector_is_usable(const json::Value& selector);

// The selector as an error message shows it.
std::string show_selector(const json::Value& selector);

}  // namespace cardea::catalog
