#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "authz/attributes.h"
#include "authz/conditions.h"
#include "authz/decision.h"
#include "base/metrics.h"
#include "base/task.h"

namespace cardea::authz {

struct ResourceRule {
  std::vector<std::string> verbs, api_groups, resources, resource_names;
  bool to_everybody = false;         // of a denial: whoever asks
  bool leaves_out_excluded = false;  // of what is allowed: `*` does not mean permissions on fields
                                     // that are excluded
};
struct NonResourceRule {
  std::vector<std::string> verbs, urls;
  bool to_everybody = false;
};

// What a user may do in a namespace, as SelfSubjectRulesReview tells it. `incomplete`: there may be
// more, or less.
struct Rules {
  std::vector<ResourceRule> resource_rules;
  std::vector<NonResourceRule> non_resource_rules;
  bool incomplete = false;
  std::vector<std::string> errors;
  // What may be denied in spite of these: rather too much than too little.
  std::vector<ResourceRule> denied_resources;
  std::vector<NonResourceRule> denied_paths;
};

// What came near to allowing a request, and what it lacked. For those who may read the role.
struct Hint {
  std::string text;                  // for a person
  std::string field;                 // of the rule, where something is missing
  std::string role_namespace, role;  // an empty namespace means a ClusterRole
};

// Somebody whom a policy names and allows, and what allows them.
struct AllowedSubject {
  std::string kind, name, namespace_name;                // "User", "Group", "ServiceAccount"
  std::string binding_kind, binding_namespace, binding;  // empty where no object says so
  std::string role_kind, role;
  json::Value rule;  // of the role: the first that allows
};

// Who may do something, as far as policies name them. `incomplete`: there may be more, or some of
// these may be refused.
struct AllowedSubjects {
  std::vector<AllowedSubject> subjects;
  bool incomplete = false;
  std::vector<std::string> remarks;  // why it is incomplete, for a person
};

// Decides whether an identity may perform an action. One that cannot decide says NoOpinion with the
// reason, it never guesses Allow.
//
// Most answer from memory at once. One that has to ask elsewhere answers nullopt from `authorize`
// and is then asked with `authorize_waiting`. Instances are shared between threads; what
// `attributes` borrows must live until the answer is there.
class Authorizer {
 public:
  virtual ~Authorizer() = default;
  virtual std::string_view name() const = 0;                // unique in its chain
  virtual std::string_view type() const { return name(); }  // "RBAC", "Webhook"

  virtual std::optional<Decision> authorize(const Attributes& attributes) const = 0;
  virtual Task<Decision> authorize_waiting(Attributes attributes) const;

  // The second call: settles conditions that this authorizer answered with, now that the object is
  // known. Must not look at the policy again. The answer is Allow, Deny or NoOpinion. Those that
  // never answer conditionally refuse.
  virtual Task<Decision> evaluate(std::shared_ptr<const Conditions> conditions,
                                  const ConditionData& data) const;

  // Adds what is known about `user` in `namespace_name` to `rules`.
  virtual void add_rules(const User& user, std::string_view namespace_name, Rules& rules) const;
  // Adds those whom this authorizer's policy names and allows; `attributes.user` does not count.
  // One that decides in another way says that it cannot tell.
  virtual void add_allowed(const Attributes& attributes, AllowedSubjects& allowed) const;

  // This authorizer with its policy as it is now, for many questions about one moment; null when it
  // has no policy that changes.
  virtual std::shared_ptr<const Authorizer> frozen() const { return nullptr; }

  // Whether the documents that this authorizer reads deny anything to anybody now, for those who
  // would ask more than a request needs. One that decides elsewhere, such as a webhook, says no: it
  // is asked about requests as they are.
  virtual bool may_deny() const { return false; }

  // Whether this user may do everything, so that nothing is checked about them.
  virtual bool exempts(const User&) const { return false; }

  // What came nearest to allowing this request, nearest first. Asked after a refusal.
  virtual std::vector<Hint> hints(const Attributes& attributes) const;
};

// The proof that authorization ran and allowed, perhaps under conditions that are still to be
// settled. Only a Chain makes one; every verb asks for one.
class Permit {
 public:
  const Decision& decision() const { return decision_; }
  bool is_conditional() const { return decision_.kind == Decision::Kind::kConditional; }

 private:
  friend class Chain;
  explicit Permit(Decision decision) : decision_(std::move(decision)) {}
  Decision decision_;
};

// Whether the caller can settle conditions later.
enum class Asking : std::uint8_t {
  kFolded,           // no: each authorizer's conditional answer is folded
  kConditionsAware,  // yes: who has to wait is asked only when it comes to that, once something
                     // before may allow
  kConditionsAwareAtOnce,  // yes, and everybody is asked now: the answer goes to somebody else
};

// Authorizers in order; the first Allow or Deny wins. An empty chain has no opinion, which allows
// nothing.
class Chain {
 public:
  // With `metrics`, which outlive it, Allow and Deny are counted by authorizer.
  explicit Chain(std::vector<std::shared_ptr<const Authorizer>> authorizers,
                 MetricRegistry* metrics = nullptr);

  struct Verdict {
    Decision decision;
    std::optional<Permit> permit;      // present exactly when the decision allows, or could
    std::string_view authorizer = {};  // who allowed or denied; empty where it took several. Lives
                                       // as long as the chain
  };

  // Answers without waiting and without allocating, when every authorizer that has to be asked can.
  std::optional<Verdict> decide(const Attributes& attributes,
                                Asking asking = Asking::kFolded) const;
  // The same without the proof, for questions beside the request's own.
  std::optional<Decision> answer(const Attributes& attributes,
                                 Asking asking = Asking::kFolded) const;
  Task<Verdict> authorize(Attributes attributes, Asking asking = Asking::kFolded) const;

  // The second phase of a conditional decision of this chain: entries in order, each settled by the
  // authorizer of its name, within what its conditions leave open. What `data` borrows must live
  // until the answer is there.
  Task<Decision> evaluate(Decision conditional, ConditionData data) const;

  // Whether any of them may: without one, nobody needs to be asked what a request comes to.
  bool may_deny() const;

  // Whether any of them exempts this user from every check.
  bool exempts(const User& user) const;

  Rules rules_for(const User& user, std::string_view namespace_name) const;
  AllowedSubjects allowed(const Attributes& attributes) const;
  // The same chain, each policy as it is now.
  std::shared_ptr<const Chain> frozen() const;
  const std::vector<std::shared_ptr<const Authorizer>>& authorizers() const { return authorizers_; }

 private:
  struct Progress;
  // Of one authorizer; null where nothing is counted.
  struct Tally {
    Counter* allowed = nullptr;
    Counter* denied = nullptr;
    Counter* conditional = nullptr;
  };
  std::optional<Decision> answer(const Attributes& attributes, Asking asking,
                                 std::string_view& authorizer) const;
  Verdict verdict_of(Decision decision, std::string_view authorizer = {}) const;
  Task<Decision> ask_the_rest(const Conditions::Deferred& rest, const ConditionData& data) const;
  // What the authorizer at `index` answered, on its way to whoever asked.
  void count(std::size_t index, const Decision& decision) const;

  std::vector<std::shared_ptr<const Authorizer>> authorizers_;
  std::vector<Tally> tallies_;    // one each, or none at all
  bool names_are_sound_ = false;  // found once, so that no decision looks for it
};

inline constexpr std::string_view kMastersName = "system-privileged-group.authorizer.kubernetes.io";
std::unique_ptr<Authorizer> masters_authorizer();  // allows the group system:masters, asked first
std::unique_ptr<Authorizer> always_allow();
std::unique_ptr<Authorizer> always_deny();
// A mode that this version knows by name only: it never has an opinion.
std::unique_ptr<Authorizer> unavailable_mode(std::string mode);

// A chain as one authorizer of another chain.
std::unique_ptr<Authorizer> nested(std::string name, std::shared_ptr<const Chain> chain);

// Several errors as one text: `a`, or `[a, b]`, each once.
std::string aggregated(const std::vector<std::string>& errors);
std::string each_once(const std::vector<std::string>& texts, std::string_view separator);

// `& < >` as entities, for text that a browser might take for a page.
std::string html_escaped(std::string_view text);

// The text of a 403: `pods "x" is forbidden: User "jane" cannot get resource "pods" in API group ""
// ...`.
Error forbidden(const Attributes& attributes, const std::string& reason);

}  // namespace cardea::authz
