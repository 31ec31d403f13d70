#pragma once
#include "json/value.h"
#include "schema/ownership/field_set.h"
#include "schema/schema.h"

namespace cardea::schema {

// The fields that a write names, by the request alone. The content of the stored object has no
// influence, so a judgement of these fields shows its caller nothing about the object.
//
// A field stands for everything below it where the request replaces or removes it as a whole. A
// list item that the request names by its position stands for the whole list: only the object
// knows which item is meant.
struct NamedFields {
  FieldSet fields;
  json::Value sent;  // the values that came with the request, in their places, as far as these are
                     // known
  bool reads_object = false;  // the request copies, moves or compares parts of the object
  bool is_json_patch = false;
};

// An update replaces the whole object: it names every field of the root and of `metadata`.
NamedFields named_by_update(const json::Value& object, const Schema& schema);
NamedFields named_by_json_patch(const json::Value& patch, const Schema& schema);
NamedFields named_by_merge_patch(const json::Value& patch, const Schema& schema);
NamedFields named_by_strategic_merge_patch(const json::Value& patch, const Schema& schema);
NamedFields named_by_apply(const json::Value& config, const Schema& schema);

}  // namespace cardea::schema
