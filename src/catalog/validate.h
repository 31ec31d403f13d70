#pragma once
#include "catalog/strategy.h"
#include "json/field_error.h"
#include "json/value.h"

namespace cardea::catalog {

// Everything that makes an object of a built-in kind invalid (422): the kind's own rules and, on
// update, the rules for every kind, in the order in which Kubernetes reports them. The object has
// its defaults, its name and its namespace. On update `old` is the stored object, and `object` has
// the metadata of `old` that belongs to the server (uid, creationTimestamp...).
//
// The hook of a strategy also checks the metadata of the kind (its rule for names, finalizers). If
// a strategy has no hook, this function checks them. Pure; safe from any thread.
json::FieldErrors validate_create(const Strategy& strategy, const json::Value& object,
                                  bool namespaced, const StrategyContext& context);
// A write of the status (StrategyContext::writes_status) has its own rules.
json::FieldErrors validate_update(const Strategy& strategy, const json::Value& object,
                                  const json::Value& old, bool namespaced,
                                  const StrategyContext& context);

// The part of validate_update for every object, custom resources included.
void validate_any_update(const json::Value& object, const json::Value& old, bool namespaced,
                         json::FieldErrors& out);

}  // namespace cardea::catalog
