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

// The path of a field as people write it, by the schema: `spec.replicas`,
// `metadata.labels.example.com/team` or `metadata.labels["example.com/team"]`,
// `metadata.finalizers[example.com/f]`, `status.conditions[type=Ready].status` or
// `status.conditions[Ready]`. Stops at what is changed as one value: an atomic list or map.
Result<schema::FieldPath> parse_field(const schema::Schema& root, std::string_view text);

// What changing one field takes.
struct FieldQuestion {
  std::string field;                  // as messages write it
  std::vector<std::string> chain;     // verbs that cover it, general to specific
  std::vector<std::string> excluded;  // verbs that are needed besides, or instead of these
  std::string unnamed;  // an excluded permission of which no verb can be made: nobody has it
};
// `verb` is create, update or patch. Errors say what is wrong with the question: there is no such
// field, or nobody writes it through this resource.
Result<FieldQuestion> ask_about_field(const catalog::Resource& resource,
                                      std::string_view subresource, std::string_view verb,
                                      std::string_view field,
                                      const schema::ExcludedVerbs& excluded);

// What is known about one verb.
enum class VerbAnswer : std::uint8_t { kNo, kDenied, kIf, kYes };

struct FieldAnswer {
  VerbAnswer answer = VerbAnswer::kNo;   // kDenied: the verb of the request is, and nothing else
                                         // counts
  std::vector<std::string> covered_by;   // yes and perhaps: the verbs that do it
  std::vector<std::string> would_cover;  // no: each of these would do
  std::vector<std::string> lacking;  // no: the smallest grant that would make it a yes; empty when
                                     // there is none
};
// Asks the way the server does: the verb of the request, `granular`, then from general to specific.
// Each verb once.
Result<FieldAnswer> judge_field(const FieldQuestion& question, const std::string& verb,
                                const std::function<Result<VerbAnswer>(const std::string&)>& ask);

}  // namespace cardea::advice
