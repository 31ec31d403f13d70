#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalog/catalog.h"
#include "schema/ownership/field_set.h"
#include "schema/permissions/required_permissions.h"

namespace cardea::advice {

// The path of a field as users write it, read by the schema: `spec.replicas`,
// `metadata.labels.example.com/team` or `metadata.labels["example.com/team"]`,
// `metadata.finalizers[example.com/f]`, `status.conditions[type=Ready].status` or
// `status.conditions[Ready]`. The path ends at an atomic list or map, because it changes as one
// value.
Result<schema::FieldPath> parse_field(const schema::Schema& root, std::string_view text);

// The permissions for changing one field.
struct FieldQuestion {
  std::string field;                  // in the form that messages use
  std::vector<std::string> chain;     // verbs that cover it, from general to specific
  std::vector<std::string> excluded;  // verbs that are needed in addition, or instead of these
  std::string unnamed;  // an excluded permission that cannot be written as a verb: no user can have
                        // it
};
// `verb` is create, update or patch. Errors say what is wrong with the question: the field does
// not exist, or cannot be written through this resource.
Result<FieldQuestion> ask_about_field(const catalog::Resource& resource,
                                      std::string_view subresource, std::string_view verb,
                                      std::string_view field,
                                      const schema::ExcludedVerbs& excluded);

// The known answer for one verb.
enum class VerbAnswer : std::uint8_t { kNo, kDenied, kIf, kYes };

struct FieldAnswer {
  VerbAnswer answer = VerbAnswer::kNo;   // kDenied: the verb of the request is denied, and no other
                                         // verb counts
  std::vector<std::string> covered_by;   // yes and perhaps: the verbs that allow it
  std::vector<std::string> would_cover;  // no: each of these verbs would allow it
  std::vector<std::string> lacking;  // no: the smallest grant that would make it a yes; empty when
                                     // there is none
};
// Asks in the same order as the server: the verb of the request, `granular`, then from general
// to specific. Each verb is asked once.
Result<FieldAnswer> judge_field(const FieldQuestion& question, const std::string& verb,
                                const std::function<Result<VerbAnswer>(const std::string&)>& ask);

}  // namespace cardea::advice
