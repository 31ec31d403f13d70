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

// A pure function from what is about to be written to true, false or an error.
struct Condition {
  enum class Effect : std::uint8_t { kDeny, kNoOpinion, kAllow };
  // What its author keeps instead of the text, which is made when somebody wants to read it.
  class Compiled {
   public:
    virtual ~Compiled() = default;
    virtual std::string text() const = 0;
  };

  Effect effect = Effect::kDeny;
  std::string id;           // a label key, unique in its set
  std::string type;         // how `text` is to be read; a label key, or empty
  std::string text;         // may be empty: the id alone may be enough for its author
  std::string description;  // for people
  std::shared_ptr<const Compiled> compiled;
  // Whether it is about the object that the request is a way to, not about what the request brings:
  // a denial of `delete pods` reads the pod of an Eviction. Judged by ConditionData::parent.
  bool on_parent = false;

  std::string shown_text() const { return compiled && text.empty() ? compiled->text() : text; }
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

struct Attributes;
class OwnedAttributes;
class Chain;

// An answer that depends on the object: the conditions of one authorizer, the answers of several in
// order, or the rest of a chain that was not asked yet because something before it may allow.
// Immutable, shared. Made by `conditional_on` and `fold`, which check it; the constructors do not.
class Conditions {
 public:
  // What an error in a Deny condition of this set means; Deny unless a webhook says otherwise.
  enum class FailureMode : std::uint8_t { kDeny, kNoOpinion };

  struct Set {
    std::vector<Condition> conditions;
    FailureMode failure_mode = FailureMode::kDeny;
  };
  using Chain = std::vector<NamedDecision>;
  // The authorizers from position `from` on are asked when it comes to that. Never leaves the
  // process.
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

inline constexpr std::size_t kMostConditions = 128;       // of one set, all effects together
inline constexpr std::size_t kLongestCondition = 10240;   // bytes of its text
inline constexpr std::size_t kLongestDescription = 1024;  // bytes
// How the text of a condition in CEL is typed; other spellings are read as the same.
inline constexpr std::string_view kCelType = "k8s.io/authorization-cel";
bool is_cel_type(std::string_view type);
// The same for what is judged on the parent. Nobody but its author can: who gets such a condition
// from elsewhere fails closed.
inline constexpr std::string_view kParentType = "access.cardea.dev/cel-on-parent";

std::string_view effect_name(Condition::Effect effect);  // "Allow"

// Who wrote a set. Ids of the domains k8s.io and kubernetes.io are not for others to use.
enum class Author : std::uint8_t {
  kOwn,
  kOwnChecked,  // the same; its ids and types were found to be label keys when the policy was read
  kThirdParty,
};

// The answer that a set of conditions is. Breaking a limit, an id or type that is no label key, or
// an id that comes twice fails the whole set: Deny if it had a Deny condition, else NoOpinion, with
// an error. Without an Allow or Deny condition it has no opinion, whatever its ids are.
Decision conditional_on(Conditions::Set set, Author author = Author::kOwn);

// What a chain of answers amounts to: the one outcome that is left, with the reason of whoever gave
// it, or the chain itself, as it is up to the first that leaves nothing open. Names that are empty,
// no DNS subdomain or not unique fail the whole chain.
Decision fold(Conditions::Chain chain);
// The same of authorizers whose names are known to be sound.
Decision fold_named(Conditions::Chain chain);
// What is wrong with the names of authorizers in one chain; empty when nothing is.
std::string problem_of_names(const std::vector<std::string_view>& names);

// What remains when nobody in a chain has an opinion: their reasons and errors, each once.
Decision without_opinion(const Conditions::Chain& chain);

Outcomes possible_outcomes(const Decision& decision);
bool allows(const Outcomes& outcomes, Decision::Kind kind);
// Whether an unconditional Allow or Deny stands anywhere in it: what comes after never matters.
bool has_an_end(const Decision& decision);
// What `decision` means to whoever cannot evaluate it: Deny if that is possible, else NoOpinion;
// never Allow.
Decision::Kind failure_decision(const Decision& decision);
// `decision` failed closed, with an error.
Decision failed(const Decision& decision, std::string error);
// What a caller gets who cannot take conditions. Not an error.
Decision folded(Decision decision);

// An object that is read when somebody first looks at it, and once. Used by one thread at a time.
class ObjectOnDemand {
 public:
  virtual ~ObjectOnDemand() = default;
  virtual const json::Value* get() const = 0;  // null: there is none
};

// What is known in the second phase. Borrows; null members are absent.
struct ConditionData {
  std::string_view operation;           // "CREATE", "UPDATE", "DELETE", "CONNECT"
  const json::Value* object = nullptr;  // after mutation, in the request's version
  const json::Value* old_object = nullptr;
  const json::Value* options = nullptr;
  const json::Value* namespace_object = nullptr;
  const ObjectOnDemand* namespace_on_demand = nullptr;  // takes its place where it has to be read
                                                        // first
  bool dry_run = false;
  std::string_view group, version, kind, resource, subresource, namespace_name, name;
  const User* user = nullptr;
  const Attributes* impersonated = nullptr;  // of an impersonation check: the request to be, its
                                             // user the one asked for
  const schema::ChangedFields* changed = nullptr;  // the fields that the caller changes, by what
                                                   // was sent; null where nobody knows
  const Chain* authorizer = nullptr;  // answers secondary checks; set by the chain that evaluates
  // The change of the object that the request is a way to, where this is one: of the pod for an
  // Eviction, a Binding or `pods/status`. Null: nobody knows it, and what depends on it fails
  // closed.
  const ConditionData* parent = nullptr;
  std::vector<std::string>* outdone = nullptr;  // takes the errors of authorizers that had no
                                                // opinion before another decided

  // What it is called: as the request says, or as its object does.
  std::string_view object_name() const;
  const json::Value* space() const {
    return namespace_on_demand ? namespace_on_demand->get() : namespace_object;
  }
};

}  // namespace cardea::authz
