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
  bool to_everybody = false;         // of a denial: it applies to every user
  bool leaves_out_excluded = false;  // of a permission: `*` does not include permissions on
                                     // excluded fields
};
struct NonResourceRule {
  std::vector<std::string> verbs, urls;
  bool to_everybody = false;
};

// The permissions of a user in a namespace, for SelfSubjectRulesReview. `incomplete`: there may
// be more, or fewer.
struct Rules {
  std::vector<ResourceRule> resource_rules;
  std::vector<NonResourceRule> non_resource_rules;
  bool incomplete = false;
  std::vector<std::string> errors;
  // The permissions among these that may be denied: the list may be too long, never too short.
  std::vector<ResourceRule> denied_resources;
  std::vector<NonResourceRule> denied_paths;
};

// The rules that almost allowed a request, and what they lack. For callers that may read the
// role.
struct Hint {
  std::string text;                  // for a person
  std::string field;                 // of the rule, where something is missing
  std::string role_namespace, role;  // an empty namespace means a ClusterRole
};

// A subject that a policy names and allows, and the objects that allow it.
struct AllowedSubject {
  std::string kind, name, namespace_name;                // "User", "Group", "ServiceAccount"
  std::string binding_kind, binding_namespace, binding;  // empty where no object grants it
  std::string role_kind, role;
  json::Value rule;  // of the role: the first that allows
};

// The subjects that may do something, as far as policies name them. `incomplete`: there may be
// more, or some of these may be refused.
struct AllowedSubjects {
  std::vector<AllowedSubject> subjects;
  bool incomplete = false;
  std::vector<std::string> remarks;  // why it is incomplete, for a message
};

// Decides whether a user may perform an action. An authorizer that cannot decide returns
// NoOpinion with the reason; it never guesses Allow.
//
// Most authorizers answer from memory at once. An authorizer that must call another server
// returns nullopt from `authorize`; then `authorize_waiting` is called. Instances are shared
// between threads; the data that `attributes` borrows must live until the answer has arrived.
class Authorizer {
 public:
  virtual ~Authorizer() = default;
  virtual std::string_view name() const = 0;                // unique in its chain
  virtual std::string_view type() const { return name(); }  // "RBAC", "Webhook"

  virtual std::optional<Decision> authorize(const Attributes& attributes) const = 0;
  virtual Task<Decision> authorize_waiting(Attributes attributes) const;

  // The second call: evaluates conditions that this authorizer answered with, when the object is
  // known. It must not read the policy again. The answer is Allow, Deny or NoOpinion. Authorizers
  // that never answer conditionally refuse.
  virtual Task<Decision> evaluate(std::shared_ptr<const Conditions> conditions,
                                  const ConditionData& data) const;
  // Of an impersonation check, before that: the impersonated request is known, the object is not.
  // What is decided for every object is answered, the rest stays conditional. An authorizer that
  // cannot tell leaves everything open.
  virtual Decision narrowed(std::shared_ptr<const Conditions> conditions,
                            const Attributes& impersonated) const;

  // Adds the known permissions of `user` in `namespace_name` to `rules`.
  virtual void add_rules(const User& user, std::string_view namespace_name, Rules& rules) const;
  // Adds the subjects that this authorizer's policy names and allows; `attributes.user` is
  // ignored. An authorizer that decides in another way adds a remark that its list is not
  // complete.
  virtual void add_allowed(const Attributes& attributes, AllowedSubjects& allowed) const;

  // This authorizer with its current policy, for many questions about one moment; null when its
  // policy never changes.
  virtual std::shared_ptr<const Authorizer> frozen() const { return nullptr; }

  // Whether any document of this authorizer currently denies anything to any user; callers use it
  // to skip further questions. An authorizer that decides on another server, such as a webhook,
  // returns false: it is asked about the request itself only.
  virtual bool may_deny() const { return false; }

  // Whether this user may do everything, so that nothing is checked about them.
  virtual bool exempts(const User&) const { return false; }

  // The rules that almost allowed this request, nearest first. Called after a refusal.
  virtual std::vector<Hint> hints(const Attributes& attributes) const;
};

// The proof that authorization ran and allowed the request, perhaps under conditions that are
// not evaluated yet. Only a Chain makes one; every verb requires one.
class Permit {
 public:
  const Decision& decision() const { return decision_; }
  bool is_conditional() const { return decision_.kind == Decision::Kind::kConditional; }

 private:
  friend class Chain;
  explicit Permit(Decision decision) : decision_(std::move(decision)) {}
  Decision decision_;
};

// Whether the caller can evaluate conditions later.
enum class Asking : std::uint8_t {
  kFolded,           // no: each authorizer's conditional answer is reduced to a plain one
  kConditionsAware,  // yes: if an earlier authorizer may allow, authorizers that have to wait are
                     // asked only when their answer is needed
  kConditionsAwareAtOnce,  // yes, and all authorizers are asked now: the answer goes to another
                           // server
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
    std::optional<Permit> permit;      // present exactly when the decision allows, or could allow
    std::string_view authorizer = {};  // the authorizer that allowed or denied; empty when several
                                       // were involved. Lives as long as the chain
  };

  // Answers without waiting and without allocating, when every authorizer that must be asked can
  // do so.
  std::optional<Verdict> decide(const Attributes& attributes,
                                Asking asking = Asking::kFolded) const;
  // The same without the proof, for additional questions of a request.
  std::optional<Decision> answer(const Attributes& attributes,
                                 Asking asking = Asking::kFolded) const;
  Task<Verdict> authorize(Attributes attributes, Asking asking = Asking::kFolded) const;

  // The second phase of a conditional decision of this chain: entries in order, each evaluated by
  // the authorizer of its name, within the outcomes that its conditions leave open. The data that
  // `data` borrows must live until the answer has arrived.
  Task<Decision> evaluate(Decision conditional, ConditionData data) const;
  // Of an impersonation check, before that: the conditional decision of this chain that is left
  // when the impersonated request is known, or the answer.
  Task<Decision> narrow(Decision conditional, const Attributes& impersonated) const;

  // Whether any authorizer may deny: if not, the effects of a request need not be checked.
  bool may_deny() const;

  // Whether any of them exempts this user from every check.
  bool exempts(const User& user) const;

  Rules rules_for(const User& user, std::string_view namespace_name) const;
  AllowedSubjects allowed(const Attributes& attributes) const;
  // The same chain, with the current policy of each authorizer.
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
  // Appends their answers to `left`; nobody is waited for after an answer that stays open.
  Task<bool> narrow_the_rest(const Conditions::Deferred& rest, const Attributes& impersonated,
                             Conditions::Chain& left) const;
  // Counts the answer of the authorizer at `index` and passes it on.
  void count(std::size_t index, const Decision& decision) const;

  std::vector<std::shared_ptr<const Authorizer>> authorizers_;
  std::vector<Tally> tallies_;    // one each, or none at all
  bool names_are_sound_ = false;  // looked up once, so that no decision has to search
};

inline constexpr std::string_view kMastersName = "system-privileged-group.authorizer.kubernetes.io";
std::unique_ptr<Authorizer> masters_authorizer();  // allows the group system:masters; asked first
std::unique_ptr<Authorizer> always_allow();
std::unique_ptr<Authorizer> always_deny();
// A mode that this version knows only by name: it never has an opinion.
std::unique_ptr<Authorizer> unavailable_mode(std::string mode);

// A chain as one authorizer of another chain.
std::unique_ptr<Authorizer> nested(std::string name, std::shared_ptr<const Chain> chain);

// Several errors as one text: `a`, or `[a, b]`, each once.
std::string aggregated(const std::vector<std::string>& errors);
std::string each_once(const std::vector<std::string>& texts, std::string_view separator);

// `& < >` as entities, because a browser might read the text as HTML.
std::string html_escaped(std::string_view text);

// The text of a 403: `pods "x" is forbidden: User "jane" cannot get resource "pods" in API group ""
// ...`.
Error forbidden(const Attributes& attributes, const std::string& reason);

}  // namespace cardea::authz
