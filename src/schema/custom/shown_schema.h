#pragma once
#include <string>

#include "json/value.h"

namespace cardea::schema {

// A JSON schema as Kubernetes' messages show it: with the names and the order its internal type
// has, every field written out. Null for what is no object.
std::string shown_schema(const json::Value& schema);
std::string shown_rule(const json::Value& rule);  // one of x-kubernetes-validations

}  // namespace cardea::schema
