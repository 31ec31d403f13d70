#include "json/members.h"

#include "base/result.h"

namespace cardea::json {

void set_all(Value& object, std::vector<Member> added) {
  if (added.empty()) return;
  CARDEA_CHECK(object.is_null() || object.is_object());
  const Value sorted = Value::object(std::move(added));
  auto mine = object.members(), theirs = sorted.members();
  std::vector<Member> out;
  out.reserve(mine.size() + theirs.size());
  std::size_t i = 0, j = 0;
  while (i < mine.size() || j < theirs.size()) {
    const int order = i == mine.size()     ? 1
                      : j == theirs.size() ? -1
                                           : mine[i].key().compare(theirs[j].key());
    out.push_back(order < 0 ? mine[i] : theirs[j]);
    i += order <= 0;
    j += order >= 0;
  }
  object = Value::object(std::move(out));
}

void add_missing(Value& object, const Value& from) {
  std::vector<Member> missing;
  for (const Member& member : from.members())
    if (!object.has(member.key())) missing.push_back(member);
  set_all(object, std::move(missing));
}

}  // namespace cardea::json
