#pragma once
#include "json/value.h"
#include "schema/ownership/field_set.h"
#include "schema/schema.h"

namespace cardea::schema {

// Which fields differ between two documents.
//
// A container that appears or disappears is itself in `added` or `removed` together with everything
// below. Atomic maps and lists are one field. Items of lists of type map and set are found by their
// identity, not their place; identical ones are compared as one.
struct Comparison {
  FieldSet added;
  FieldSet modified;
  FieldSet removed;
  // Lists of type map and set in which items of both documents changed places. Not a difference by
  // itself: see list_order.h.
  FieldSet moved;

  bool empty() const { return added.empty() && modified.empty() && removed.empty(); }
  // The first three without `ignored` and what is below.
  Comparison without(const FieldSet& ignored) const;
};

// Pure; costs little where both documents share their parts, and allocates only for what differs.
Comparison compare(const json::Value& before, const json::Value& after, const Schema& schema);

// Deep equality in which 1 and 1.0 are the same.
bool same_content(const json::Value& a, const json::Value& b);

}  // namespace cardea::schema
