#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "authz/decision.h"
#include "authz/user.h"
#include "json/value.h"

namespace cardea::authz {

// A pure function from what is about to be written to true, false or an error.
struct Condition {
  enum class Effect : std::uint8_t { kDeny, kNoOpinion, kAllow };

  Effect effect = Effect::kDeny;
  std::string id;           // a label key, unique in its set
  std::string type;         // how `text` is to be read; a label key, or empty
  std::string text;         // may be empty: the id alone may be enough for its author
  std::string description;  // for people
  std::shared_ptr<const void> compiled;  // what its author keeps beside the text
};

struct NamedDecision {
  std::string authorizer;
  Decision decision;
};

// Which outcomes are still open.
struct Outcomes {
  bool allow = false, deny = false, no_opinion = false;
  bool operator==(const Outcomes&) const = default;
};

// An answer that depends on the object: the conditions of one authorizer, or the answers of several in order.
// Immutable, shared.
class Conditions {
 public:
  // What an error in a Deny condition of this set means; Deny unless a webhook says otherwise.
  enum class FailureMode : std::uint8_t { kDeny, kNoOpinion };

  struct Set {
    std::vector<Condition> conditions;
    FailureMode failure_mode = FailureMode::kDeny;
  };
  using Chain = std::vector<NamedDecision>;

  explicit Conditions(Set set);
  explicit Conditions(Chain chain);

  const Set* set() const { return std::get_if<Set>(&content_); }
  const Chain* chain() const { return std::get_if<Chain>(&content_); }
  Outcomes possible() const { return possible_; }

 private:
  std::variant<Set, Chain> content_;
  Outcomes possible_;
};

// Checks limits and ids; a set that breaks one fails closed as a whole, with an error. A set without an Allow or
// Deny condition has no opinion.
Decision conditional_on(Conditions::Set set);

// What a chain of answers amounts to: the one outcome that is left, or the chain itself.
Decision fold(Conditions::Chain chain);

Outcomes possible_outcomes(const Decision& decision);
// What `decision` means to whoever cannot evaluate it: Deny if that is possible, else NoOpinion; never Allow.
Decision::Kind failure_decision(const Decision& decision);
Decision folded(Decision decision);

// What is known in the second phase. Borrows; null members are absent.
struct ConditionData {
  std::string_view operation;  // "CREATE", "UPDATE", "DELETE", "CONNECT"
  const json::Value* object = nullptr;      // after mutation, in the request's version
  const json::Value* old_object = nullptr;
  const json::Value* options = nullptr;
  const json::Value* namespace_object = nullptr;
  bool dry_run = false;
  std::string_view group, version, kind, resource, subresource, namespace_name, name;
  const User* user = nullptr;
};

}  // namespace cardea::authz
