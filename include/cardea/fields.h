#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "cardea/decision.h"

namespace cardea::v1 {

// The permissions that a change of one field needs. Permissions on fields are verbs:
// `granular:labels`, `granular:label(example.com)`. Fields that need the same permissions are
// listed once, by the first of them.
struct FieldDemand {
  std::string field;  // "metadata.labels.app"
  // Verbs that cover the field for a caller with `granular` but without the verb of the request,
  // from general to specific: one of them is enough. Empty: only the verb of the request covers it.
  std::vector<std::string> covered_by;
  // Verbs that nothing else implies: each is needed, whatever else the caller holds.
  std::vector<std::string> needed;
  // Not empty: the field is guarded by a permission of which no verb can be made. Nobody holds it.
  std::string unnamed;
};

// Whether a user may make a change, looked at field by field.
struct FieldJudgement {
  enum class Way : std::uint8_t {
    kNone,      // neither the verb of the request nor `granular` is allowed
    kVerb,      // the verb is: only fields with their own permissions were checked
    kGranular,  // `granular` is: every changed field had to be covered
  };
  bool allowed = false;
  Way way = Way::kNone;
  std::string reason;  // for a person
  // The first field that is refused, if one is, and what would have covered it.
  std::string field;
  std::string missing_verb;
  std::vector<std::string> would_cover;

  struct Asked {
    std::string verb;
    bool allowed;
  };
  std::vector<Asked> asked;  // the permissions that were asked for, in order
};

}  // namespace cardea::v1
