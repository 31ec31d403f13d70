#pragma once
#include "catalog/strategy.h"
#include "json/field_error.h"
#include "json/value.h"

namespace cardea::catalog {

// Everything that makes an object of a built-in kind invalid (422): the kind's own rules and, on
// update, those that hold for every kind, in the order Kubernetes reports them. The object has its
// defaults, its name and its namespace; on update `old` is what is stored and `object` carries the
// server-owned metadata of `old` (uid, creationTimestamp...).
//
// A strategy's own hook checks the kind's metadata too (its name rule, finalizers); where a
// strategy has no hook, that is done here. Pure; safe from any thread.
json::FieldErrors validate_create(const Strategy& strategy, const json::Value& object,
                                  bool namespaced, const StrategyContext& context);
// A write of the status (StrategyContext::writes_status) has rules of its own.
json::FieldErrors validate_update(const Strategy& strategy, const json::Value& object,
                                  const json::Value& old, bool namespaced,
                                  const StrategyContext& context);

// The part of validate_update that holds for every object, custom resources included.
void validate_any_update(const json::Value& object, const json::Value& old, bool namespaced,
                         json::FieldErrors& out);

}  // namespace cardea::catalog
