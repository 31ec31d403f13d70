#pragma once
#include <vector>

#include "json/value.h"

namespace cardea::json {

// Edits of many members at once, at the cost of one walk over the object. Value::set and erase
// each cost the size of the object, so that a loop over them costs its square. On null they make
// an object first.
void set_all(Value& object, std::vector<Member> members);  // of equal keys the last one stays
void add_missing(Value& object, const Value& from);  // the members of `from` that are not there yet

// Removes every member for which `leaves(member)` holds.
template <typename Leaves>
void erase_members(Value& object, Leaves leaves) {
  std::vector<Member> kept;
  kept.reserve(object.size());
  for (const Member& member : object.members())
    if (!leaves(member)) kept.push_back(member);
  if (kept.size() != object.size()) object = Value::object(std::move(kept));
}

}  // namespace cardea::json
