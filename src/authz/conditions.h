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

namespace cardea::schema {
class ChangedFields;
}

namespace cardea::authz {

// A pure function from the object that is about to be written to true, false or an error.
struct Condition {
  enum class Effect : std::uint8_t { kDeny, kNoOpinion, kAllow };
  // The author's own form of the condition. Its text is made only when it is needed.
  class Compiled {
   public:
    virtual ~Compiled() = default;
    virtual std::string text() const = 0;
  };

  Effect effect = Effect::kDeny;
  std::string id;           // a label key, unique in its set
  std::string type;         // how `text` is to be read; a label key, or empty
  std::string text;         // may be empty: the id alone may be enough for its author
  std::string description;  // for messages
  std::shared_ptr<const Compiled> compiled;
  // Whether the condition is about the object that the request changes indirectly, not about the
  // body of the request: a denial of `delete pods` reads the pod of an Eviction. Evaluated with
  // ConditionData::parent.
  bool on_parent = false;

  std::string shown_text() const { return compiled && text.empty() ? compiled->text() : text; }
};

struct NamedDecision {
  std::string authorizer;
  Decision decision;
};

// The outcomes that are still possible.
struct Outcomes {
  bool allow = false, deny = false, no_opinion = false;
  bool operator==(const Outcomes&) const = default;
};

struct Attributes;
class OwnedAttributes;
class Chain;

// An answer that depends on the object: the conditions of one authorizer, the answers of
// several in order, or the rest of a chain that was not asked yet because an earlier authorizer
// may allow. Immutable, shared. Made by `conditional_on` and `fold`, which check it; the
// constructors do not.
class Conditions {
 public:
  // The meaning of an error in a Deny condition of this set; Deny unless a webhook says
  // otherwise.
  enum class FailureMode : std::uint8_t { kDeny, kNoOpinion };

  struct Set {
    std::vector<Condition> conditions;
    FailureMode failure_mode = FailureMode::kDeny;
  };
  using Chain = std::vector<NamedDecision>;
  // The authorizers from position `from` on are asked only if their answer is needed. Never
  // leaves the process.
  struct Deferred {
    std::size_t from = 0;
    std::shared_ptr<const OwnedAttributes> question;
  };

  explicit Conditions(Set set);
  explicit Conditions(Chain chain);
  explicit Conditions(Deferred deferred);

  const Set* set() const { return std::get_if<Set>(&content_); }
  const Chain* chain() const { return std::get_if<Chain>(&content_); }
  const Deferred* deferred() const { return std::get_if<Deferred>(&content_); }
  Outcomes possible() const { return possible_; }

 private:
  std::variant<Set, Chain, Deferred> content_;
  Outcomes possible_;
};

// Limits of what another server sends, and of what is sent to one. Inside a server a set may be
// larger.
inline constexpr std::size_t kMostConditions = 128;       // of one set, all effects together
inline constexpr std::size_t kLongestCondition = 10240;   // bytes of its text
inline constexpr std::size_t kLongestDescription = 1024;  // bytes
// The type of conditions in CEL; other spellings are read as the same type.
inline constexpr std::string_view kCelType = "k8s.io/authorization-cel";
bool is_cel_type(std::string_view type);
// The same for conditions on the parent. Only the author can evaluate them: a server that
// receives such a condition from another server fails closed.
inline constexpr std::string_view kParentType = "access.cardea.dev/cel-on-parent";

std::string_view effect_name(Condition::Effect effect);  // "Allow"

// The author of a set. Only Kubernetes may use ids of the domains k8s.io and kubernetes.io.
enum class Author : std::uint8_t {
  kOwn,
  kOwnChecked,  // the same; its ids and types are known to be label keys, and limits are for sets
                // that are sent
  kThirdParty,
};

// The answer for a set of conditions. A broken limit, an id or type that is
// not a label key, or a repeated id fails the whole set: Deny if it had a Deny condition, else
// NoOpinion, with an error. A set without an Allow or Deny condition has no opinion, whatever its
// ids are.
Decision conditional_on(Conditions::Set set, Author author = Author::kOwn);

// The combined answer of a chain: the only outcome that is left, with the reason of its
// authorizer; or the chain itself, up to the first answer that leaves nothing open. Names that
// are empty, not DNS subdomains or not unique fail the whole chain.
Decision fold(Conditions::Chain chain);
// The same for authorizers whose names are known to be valid.
Decision fold_named(Conditions::Chain chain);
// The error in the names of authorizers in one chain; empty when there is none.
std::string problem_of_names(const std::vector<std::string_view>& names);

// The answer when no authorizer of a chain has an opinion: their reasons and errors, each once.
Decision without_opinion(const Conditions::Chain& chain);

Outcomes possible_outcomes(const Decision& decision);
bool allows(const Outcomes& outcomes, Decision::Kind kind);
// Whether it contains an unconditional Allow or Deny: later answers never count.
bool has_an_end(const Decision& decision);
// The plain meaning of `decision` for a caller that cannot evaluate it: Deny if that is
// possible, else NoOpinion; never Allow.
Decision::Kind failure_decision(const Decision& decision);
// `decision` failed closed, with an error.
Decision failed(const Decision& decision, std::string error);
// The answer for a caller that cannot handle conditions. Not an error.
Decision folded(Decision decision);
// Whether conditions were folded on the way to this answer, which is then no Allow.
bool was_folded(const Decision& decision);

// An object that is read at its first use, and once. Used by one thread at a time.
class ObjectOnDemand {
 public:
  virtual ~ObjectOnDemand() = default;
  virtual const json::Value* get() const = 0;  // null: there is none
};

// The data of the second phase. Borrows; null members are absent.
struct ConditionData {
  std::string_view operation;           // "CREATE", "UPDATE", "DELETE", "CONNECT"
  const json::Value* object = nullptr;  // after mutation, in the request's version
  const json::Value* old_object = nullptr;
  const json::Value* options = nullptr;
  const json::Value* namespace_object = nullptr;
  const ObjectOnDemand* namespace_on_demand = nullptr;  // replaces it where the object must be read
                                                        // first
  bool dry_run = false;
  std::string_view group, version, kind, resource, subresource, namespace_name, name;
  const User* user = nullptr;
  const Attributes* impersonated = nullptr;        // of an impersonation check: the request as the
                                                   // impersonated user
  const schema::ChangedFields* changed = nullptr;  // the fields that the caller's request changes;
                                                   // null where they are not known
  std::string_view via = {};                       // as in Attributes
  const Chain* authorizer = nullptr;  // answers secondary checks; set by the chain that evaluates
  // The change of the object that the request changes indirectly: the pod of an Eviction, a
  // Binding or `pods/status`. Null: the change is not known, and conditions on it fail closed.
  const ConditionData* parent = nullptr;
  std::vector<std::string>* outdone = nullptr;  // receives the errors of authorizers that had no
                                                // opinion before another one decided

  // The name of the object: from the request, or from its object.
  std::string_view object_name() const;
  const json::Value* space() const {
    return namespace_on_demand ? namespace_on_demand->get() : namespace_object;
  }
};

}  // namespace cardea::authz
