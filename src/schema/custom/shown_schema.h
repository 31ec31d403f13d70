#pragma once
#include <string>

#include "json/value.h"

namespace cardea::schema {

// A JSON schema as Kubernetes' messages show it: with the names and the order of its internal type,
// and every field written out. Null if it is not an object.
std::string shown_schema(const json::Value& schema);
std::string shown_rule(const json::Value& rule);  // one of x-kubernetes-validations

}  // namespace cardea::schema
