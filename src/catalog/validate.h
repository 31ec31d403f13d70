#pragma once
#include "catalog/strategy.h"
#include "json/field_error.h"
#include "json/value.h"

namespace cardea::catalog {

// Everything that makes an object invalid (422): the kind's own rules and those that hold for every kind, in
// the order Kubernetes reports them. The object has its defaults, its name and its namespace; on update `old`
// is what is stored and `object` carries the server-owned metadata of `old` (uid, creationTimestamp...).
//
// A strategy's own hook checks the kind's metadata too (its name rule, finalizers); where a strategy has no
// hook, the name rule of the strategy is checked here. Pure; safe from any thread.
json::FieldErrors validate_create(const Strategy& strategy, const json::Value& object, bool namespaced,
                                  const StrategyContext& context);
json::FieldErrors validate_update(const Strategy& strategy, const json::Value& object, const json::Value& old,
                                  bool namespaced, const StrategyContext& context);
// The same for the status subresource: the rules of validate_status_update instead of validate_update.
json::FieldErrors validate_status_update(const Strategy& strategy, const json::Value& object,
                                         const json::Value& old, bool namespaced,
                                         const StrategyContext& context);

}  // namespace cardea::catalog
