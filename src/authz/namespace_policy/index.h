#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "authz/attributes.h"
#include "authz/decision.h"
#include "authz/namespace_policy/documents.h"
#include "authz/namespace_policy/role.h"
#include "base/trie.h"

namespace cardea::authz::namespace_policy {

// One subject of one role binding.
struct Grant : Counted {
  bool is_group = false;
  std::string subject;
  std::uint64_t hash = 0;  // of the subject
  std::uint64_t role_hash = 0;
  RoleRef role;
  std::string namespace_name, binding;

  static std::uint64_t user_hash(std::string_view user);
  static std::uint64_t group_hash(std::string_view group);
  bool is_of(const User& user) const {
    return is_group ? user.in_group(subject) : user.name == subject;
  }
};

// All policies at one moment, indexed first by namespace, then by user or group. A decision
// looks up the user and each group, in the master namespace and in its own; it never visits the
// list of bindings.
//
// Copying shares everything. A copy that is not shared yet may be changed, at the cost of the
// change. Afterwards it is read from any thread without locks. Explains the decisions made from
// it.
class Index : public Explanation::Source {
 public:
  explicit Index(std::string master = std::string(kDefaultMaster),
                 std::shared_ptr<const ResourceGroups> groups = nullptr);

  const std::string& master() const { return master_; }
  const ResourceGroups& groups() const { return *groups_; }
  bool empty() const { return scopes_.size() == 0; }

  // For building the next state: a container before (null: it did not exist) and now (null: it
  // was deleted). Costs the difference. Unreadable content fails closed: a role denies the users
  // that are bound to it; bindings deny all users in their namespace that the master namespace
  // does not allow.
  void change_policy(std::string_view namespace_name, const json::Value& before,
                     const json::Value& after);
  void change_bindings(std::string_view namespace_name, std::string_view name,
                       const json::Value& before, const json::Value& after);

  // The bindings of a namespace.
  class Scope : public Counted {
   public:
    const std::string& name() const { return name_; }
    // Why this state must not decide; empty when everything could be read.
    const std::string& problem() const { return problem_; }
    // The entries of this hash; compare the subject before use.
    std::span<const Grant* const> find(std::uint64_t hash) const { return grants_.find(hash); }
    void prefetch(std::uint64_t hash) const { grants_.prefetch(hash); }
    // In the order of bindings, then subjects.
    std::vector<const Grant*> all() const;

   private:
    friend class Index;
    struct GrantTraits {
      using Item = const Grant*;
      static constexpr std::uint32_t kLeafMax = 32;
      static std::uint64_t hash(Item g) { return g->hash; }
      static bool less(Item a, Item b) { return a->binding < b->binding; }
      static void retain(Item g) { g->retain(); }
      static void release(Item g) {
        if (g->release()) delete g;
      }
    };
    std::string name_, problem_;
    std::map<std::string, std::string, std::less<>> problems_;  // by container
    Trie<GrantTraits> grants_;
  };
  // Null: nothing binds there.
  const Scope* scope(std::string_view namespace_name) const;
  const CompiledRole* role(const Grant& grant) const;
  const CompiledRole* find_role(std::string_view namespace_name, std::string_view name) const;
  // Whether any binding, in whichever namespace, is of this role and for this user. Looks at every
  // namespace that binds.
  bool binds(const RoleRef& role, const User& user) const;
  // Whether any role denies, or any content cannot be read and so might deny.
  bool may_deny() const { return denying_roles_ > 0 || unread_scopes_ > 0; }
  // Whether some namespace other than the master has a denial for this user, or unreadable
  // content. Visits every namespace with bindings.
  bool may_deny_somewhere(const User& user) const;

  // Describes the effect of a rule: `denied by rule in hammer: rule 0 of role "hammer/x", bound
  // by "y"`.
  static std::uint64_t key(const Grant& grant, std::size_t rule);
  std::string explain(std::uint64_t key) const override;

 private:
  struct ScopeTraits {
    using Item = Scope*;
    static constexpr std::uint32_t kLeafMax = 32;
    static std::uint64_t hash(Item s);
    static bool less(Item a, Item b) { return a->name() < b->name(); }
    static void retain(Item s) { s->retain(); }
    static void release(Item s) {
      if (s->release()) delete s;
    }
  };
  struct RoleTraits {
    using Item = const CompiledRole*;
    static constexpr std::uint32_t kLeafMax = 32;
    static std::uint64_t hash(Item r) { return r->hash(); }
    static bool less(Item, Item) { return false; }
    static void retain(Item r) { r->retain(); }
    static void release(Item r) {
      if (r->release()) delete r;
    }
  };
  Scope& own_scope(std::string_view namespace_name);
  void forget_empty(std::string_view namespace_name);
  void put_role(std::string_view namespace_name, std::string_view name, const json::Value* element);
  void add_binding(Scope& scope, const RoleBinding& binding, std::string_view name);
  void remove_binding(Scope& scope, const RoleBinding& binding, std::string_view name);

  std::string master_;
  std::shared_ptr<const ResourceGroups> groups_;
  Trie<ScopeTraits> scopes_;
  Trie<RoleTraits> roles_;
  std::size_t denying_roles_ = 0, unread_scopes_ = 0;
};

}  // namespace cardea::authz::namespace_policy
