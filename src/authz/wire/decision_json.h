#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "authz/authorizer.h"
#include "authz/conditions.h"
#include "base/result.h"
#include "json/field_error.h"
#include "json/value.h"

// Decisions with conditions as JSON, in two dialects.
//
//   tree     `{type, allow | deny | noOpinion | conditionsMap | union}`, as
//   `status.conditionalDecision` and in reviews of
//            conditions that carry `request.decision`
//   list     `[{authorizerName, allowed | denied | conditions}]`, as `status.conditionsChain` and
//   `request.conditionSets`
namespace cardea::authz::wire {

enum class Dialect : std::uint8_t { kNone, kTree, kList };

// The form of the answer that the caller of an access review asks for.
struct Wish {
  Dialect dialect = Dialect::kNone;
  bool with_descriptions = true;  // the list's mode HumanReadable, not Optimized
};
// Reads spec.authorizationOptions and spec.conditionalAuthorization; appends what is wrong with
// them.
Wish read_wish(const json::Value& spec, json::FieldErrors& errors);
// The form of answer for a caller that lists these types of decisions: conditions are sent only
// if all five are listed.
bool takes_conditions(const json::Value& handled_types);
bool takes_unconditional(const json::Value& handled_types);

// The name of an authorizer inside another one; `outer` is empty for those of the server itself. A
// part of a set that was split has the name of the set.
std::string inside(std::string_view outer, std::string_view name);

json::Value as_tree(const Decision& decision);
// The chain in order and flat: `c` inside `b` inside `a` is named "a.b.c". Without authorizers that
// have no opinion, up to the first answer that leaves nothing open.
json::Value as_list(const Decision& decision, bool with_descriptions = true);

// Puts the entries of a chain into another order.
using Arrange = std::function<void(Conditions::Chain&)>;

// A decision that another server sent, checked: types, members, names, limits. `at` is its
// path, for messages. `arrange`, if any, comes before an answer that leaves nothing open ends the
// chain.
Result<Decision> from_tree(const json::Value& tree, const std::string& at,
                           json::FieldErrors& errors, Author author, const Arrange& arrange = {});
Result<Decision> from_list(const json::Value& list, const std::string& at,
                           json::FieldErrors& errors, Author author, const Arrange& arrange = {});

// An unconditional answer: {type, allow: {reason, evaluationError}}. Null for anything else.
std::optional<Decision> unconditional_from_tree(const json::Value& tree);

}  // namespace cardea::authz::wire
