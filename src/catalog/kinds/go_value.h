#pragma once
#include <initializer_list>
#include <string>
#include <string_view>

#include "json/value.h"

namespace cardea::catalog {

// Some of Kubernetes' messages show a value of its internal types: every field, in the order of
// declaration, under its Go name, null when absent. `fields` names them in JSON spelling; the Go
// name is the same with a capital first letter unless given after a colon ("fsGroup:FSGroup").
std::string show_go_struct(const json::Value& object,
                           std::initializer_list<std::string_view> fields);

// Any value with capitalised names, for what stands inside such a struct.
std::string show_go_value(const json::Value& value);

}  // namespace cardea::catalog
