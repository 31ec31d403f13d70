#pragma once
#include "json/value.h"
#include "schema/ownership/field_set.h"
#include "schema/schema.h"

namespace cardea::schema {

// The fields that a write names, read off the request alone. What the stored object holds plays no
// part, so a judgement of these fields tells its caller nothing about the object.
//
// A field stands for everything below it where the request replaces or removes it as a whole. An
// item of a list that the request names by its place stands for the whole list: which item is meant
// only the object knows.
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
