#pragma once
#include "json/value.h"

namespace cardea::rest {

// kube-apiserver serves CustomResourceDefinitions in v1, and still keeps them in v1beta1: there
// what all versions have in common stands beside them. It reads both.

bool is_old_definition(const json::Value& object);

// The same definition in v1. What is wrong in it stays wrong.
json::Value definition_from_v1beta1(json::Value object);

}  // namespace cardea::rest
