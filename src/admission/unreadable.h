#pragma once
#include "json/value.h"

namespace cardea::admission {

// The parts of what stands in for a configuration that nobody can read. It matches everything that
// clients do. Administrators are let through, so that they can mend it.

inline json::Value rules_for_everything() {
  using json::Value;
  const auto all = [] { return Value::array({"*"}); };
  return Value::array({Value::object({{"operations", all()},
                                      {"apiGroups", all()},
                                      {"apiVersions", all()},
                                      {"resources", Value::array({"*/*"})},
                                      {"scope", "*"}})});
}

inline json::Value unless_administrator() {
  using json::Value;
  return Value::array({Value::object(
      {{"name", "clients"}, {"expression", "!('system:masters' in request.userInfo.groups)"}})});
}

}  // namespace cardea::admission
