#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "authz/attributes.h"
#include "authz/decision.h"
#include "authz/rbac/binding.h"
#include "authz/rbac/rule.h"
#include "base/trie.h"

namespace cardea::authz::rbac {

// All roles and bindings at one moment, indexed by subject, and by subject and namespace
// together. A decision looks up the user and each group, and never visits the list of bindings.
//
// Copying shares everything. A copy that is not shared yet may be changed, at the cost of the
// change. After that it is immutable and may be read from any thread without locks. Explains
// the decisions made from it.
class RoleTable : public Explanation::Source {
 public:
  // For building the next state. A removed object must be described as it was added.
  void add_binding(std::string_view namespace_name, std::string_view name,
                   const json::Value& object);
  void remove_binding(std::string_view namespace_name, std::string_view name,
                      const json::Value& object);
  void set_role(std::string_view namespace_name, std::string_view name,
                std::vector<PolicyRule> rules);
  void remove_role(std::string_view namespace_name, std::string_view name);

  // The grant that allows: cluster bindings first, then those of the namespace, each by name in
  // byte order; of the binding the first subject that applies. Null when none does; `is_broken`
  // then says whether a binding that applies refers to a role that cannot be used. Allocates
  // nothing.
  const Subject* find_allowing(const Attributes& attributes, bool& is_broken) const;

  // The errors of the bindings that apply to the user, each once, in the order of the bindings. A
  // missing role is named `role.rbac.authorization.k8s.io`, or `clusterrole...`, unless `as` says
  // otherwise.
  std::vector<std::string> errors_for(const User& user, std::string_view namespace_name,
                                      std::string_view as = "") const;

  // The bindings that apply to the user, in the order above, each once, by the first subject that
  // applies.
  std::vector<const Subject*> grants_of(const User& user, std::string_view namespace_name) const;

  // All subjects to which a binding gives this permission: one call per subject, binding and the
  // first rule that allows. `attributes.user` is ignored. Bindings of the cluster first, in the
  // order of their names.
  using Visit = std::function<void(const Subject& subject, const Role& role,
                                   const PolicyRule& rule)>;
  void for_each_allowed(const Attributes& attributes, const Visit& visit) const;

  // The role a binding refers to, or null.
  const Role* role_of(const Binding& binding) const;
  const Role* find_role(std::string_view namespace_name, std::string_view name) const;

  std::size_t bindings_in(std::string_view namespace_name) const;  // grants, one per subject

  // `RBAC: allowed by RoleBinding "b/ns" of Role "r" to User "u"`; the key is the address of the
  // Subject.
  std::string explain(std::uint64_t key) const override;
  // The binding and its role.
  std::vector<Ground> grounds(std::uint64_t key) const override;

 private:
  struct GrantTraits {
    using Item = const Subject*;
    static constexpr std::uint32_t kLeafMax = 256;
    static std::uint64_t hash(Item s) { return s->hash(); }
    static bool less(Item a, Item b) { return comes_before(*a, *b); }
    static void retain(Item s) { s->binding().retain(); }
    static void release(Item s) { Binding::drop(&s->binding()); }
  };
  using Grants = Trie<GrantTraits>;
  // The same by subject and namespace.
  struct LocalTraits : GrantTraits {
    static constexpr std::uint32_t kLeafMax = 32;
    static std::uint64_t hash(Item s);
  };

  // The grants of one namespace.
  struct Scope : Counted {
    std::string name;
    Grants grants;
  };
  struct ScopeTraits {
    using Item = Scope*;
    static constexpr std::uint32_t kLeafMax = 256;
    static std::uint64_t hash(Item s);
    static bool less(Item a, Item b) { return a->name < b->name; }
    static void retain(Item s) { s->retain(); }
    static void release(Item s) {
      if (s->release()) delete s;
    }
  };
  struct RoleTraits {
    using Item = const Role*;
    static constexpr std::uint32_t kLeafMax = 256;
    static std::uint64_t hash(Item r) { return r->hash(); }
    static bool less(Item, Item) { return false; }
    static void retain(Item r) { r->retain(); }
    static void release(Item r) {
      if (r->release()) delete r;
    }
  };

  static bool comes_before(const Subject& a, const Subject& b);
  const Grants* grants_in(std::string_view namespace_name) const;
  Grants& own_grants(std::string_view namespace_name);
  void forget_empty(std::string_view namespace_name);

  Grants cluster_;
  Trie<LocalTraits> local_;       // what decisions ask
  Trie<ScopeTraits> namespaces_;  // the same grants, for iterating over a namespace
  Trie<RoleTraits> roles_;
};

}  // namespace cardea::authz::rbac
