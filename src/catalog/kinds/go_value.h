#pragma once
#include <initializer_list>
#include <string>
#include <string_view>

#include "json/value.h"

namespace cardea::catalog {

// Some of Kubernetes' messages show a value of its internal types: every field, in the order of
// declaration, with its Go name, null if absent. `fields` names them in JSON spelling. The Go name
// is the same with a capital first letter, unless it is given after a colon ("fsGroup:FSGroup").
std::string show_go_struct(const json::Value& object,
                           std::initializer_list<std::string_view> fields);

// Any value with capitalised names, for values inside such a struct.
std::string show_go_value(const json::Value& value);

}  // namespace cardea::catalog
