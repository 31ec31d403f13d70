#include "authz/rbac/role_table.h"

#include <algorithm>
#include <array>
#include <span>

#include "authz/rbac/hash.h"
#include "base/strings.h"

namespace cardea::authz::rbac {
namespace {

// The user and the groups with their hashes: those of ordinary users fit on the stack.
class Identities {
 public:
  explicit Identities(const User& user) : user_(user), user_hash_(Subject::user_hash(user.name)) {
    std::size_t known = std::min(user.groups.size(), group_hashes_.size());
    for (std::size_t i = 0; i < known; ++i) group_hashes_[i] = Subject::group_hash(user.groups[i]);
  }
  std::size_t count() const { return user_.groups.size() + 1; }
  std::uint64_t hash(std::size_t i) const {
    if (i == 0) return user_hash_;
    return i <= group_hashes_.size() ? group_hashes_[i - 1]
                                     : Subject::group_hash(user_.groups[i - 1]);
  }
  bool is(std::size_t i, const Subject& s) const {
    return i == 0 ? s.is_user(user_.name) : s.is_group(user_.groups[i - 1]);
  }

 private:
  const User& user_;
  std::uint64_t user_hash_;
  std::array<std::uint64_t, 32> group_hashes_;
};

std::string missing_role(const Binding& b, std::string_view as) {
  if (b.role_kind() == Binding::RoleKind::kOther)
    return cat("unsupported role reference kind: ", quoted(b.role_kind_name()));
  std::string_view kind = !as.empty()                                 ? as
                          : b.role_kind() == Binding::RoleKind::kRole ? "role"
                                                                      : "clusterrole";
  return cat(kind, ".", kGroup, " ", quoted(b.role_name()), " not found");
}

template <typename Grants, typename Matches>
void collect(const Grants& grants, const Identities& who, Matches add) {
  for (std::size_t i = 0; i < who.count(); ++i)
    for (const Subject* s : grants.find(who.hash(i)))
      if (who.is(i, *s)) add(s);
}

}  // namespace

std::uint64_t RoleTable::ScopeTraits::hash(Item s) {
  return hash_name(s->name);
}
std::uint64_t RoleTable::LocalTraits::hash(Item s) {
  return hash_in(hash_name(s->binding().namespace_name()), s->hash());
}

bool RoleTable::comes_before(const Subject& a, const Subject& b) {
  int order = a.binding().name().compare(b.binding().name());
  return order != 0 ? order < 0 : a.index() < b.index();
}

const RoleTable::Grants* RoleTable::grants_in(std::string_view namespace_name) const {
  if (namespace_name.empty()) return &cluster_;
  for (const Scope* s : namespaces_.find(hash_name(namespace_name)))
    if (s->name == namespace_name) return &s->grants;
  return nullptr;
}

RoleTable::Grants& RoleTable::own_grants(std::string_view namespace_name) {
  if (namespace_name.empty()) return cluster_;
  auto is_it = [&](const Scope* s) { return s->name == namespace_name; };
  std::uint64_t hash = hash_name(namespace_name);
  Scope** slot = namespaces_.edit(hash, is_it);
  if (!slot) {
    Scope* scope = new Scope();
    scope->name = namespace_name;
    namespaces_.insert(scope);
    ScopeTraits::release(scope);
    slot = namespaces_.edit(hash, is_it);
  }
  if (!(*slot)->is_unique()) {
    Scope* copy = new Scope();
    copy->name = (*slot)->name;
    copy->grants = (*slot)->grants;
    ScopeTraits::release(std::exchange(*slot, copy));
  }
  return (*slot)->grants;
}

void RoleTable::forget_empty(std::string_view namespace_name) {
  const Grants* grants = grants_in(namespace_name);
  if (namespace_name.empty() || !grants || grants->size() != 0) return;
  namespaces_.erase(hash_name(namespace_name),
                    [&](const Scope* s) { return s->name == namespace_name; });
}

void RoleTable::add_binding(std::string_view namespace_name, std::string_view name,
                            const json::Value& object) {
  Binding* binding = Binding::make(namespace_name, name, object);
  if (binding->subject_count() > 0) {
    Grants& grants = own_grants(namespace_name);
    for (std::uint32_t i = 0; i < binding->subject_count(); ++i)
      if (binding->subject(i).kind() != Subject::Kind::kOther) {
        grants.insert(&binding->subject(i));
        if (!namespace_name.empty()) local_.insert(&binding->subject(i));
      }
  }
  Binding::drop(binding);
  forget_empty(namespace_name);
}

void RoleTable::remove_binding(std::string_view namespace_name, std::string_view name,
                               const json::Value& object) {
  if (!grants_in(namespace_name)) return;
  Binding* binding = Binding::make(namespace_name, name, object);
  Grants& grants = own_grants(namespace_name);
  for (std::uint32_t i = 0; i < binding->subject_count(); ++i) {
    const Subject& gone = binding->subject(i);
    if (gone.kind() == Subject::Kind::kOther) continue;
    auto is_it = [&](const Subject* s) {
      return s->index() == gone.index() && s->binding().name() == name &&
             s->binding().namespace_name() == namespace_name;
    };
    grants.erase(gone.hash(), is_it);
    if (!namespace_name.empty()) local_.erase(LocalTraits::hash(&gone), is_it);
  }
  Binding::drop(binding);
  forget_empty(namespace_name);
}

void RoleTable::remove_role(std::string_view namespace_name, std::string_view name) {
  roles_.erase(Role::hash(namespace_name, name), [&](const Role* r) {
    return r->name() == name && r->namespace_name() == namespace_name;
  });
}

void RoleTable::set_role(std::string_view namespace_name, std::string_view name,
                         std::vector<PolicyRule> rules) {
  remove_role(namespace_name, name);
  const Role* role = new Role(namespace_name, name, std::move(rules));
  roles_.insert(role);
  RoleTraits::release(role);
}

const Role* RoleTable::find_role(std::string_view namespace_name, std::string_view name) const {
  for (const Role* r : roles_.find(Role::hash(namespace_name, name)))
    if (r->name() == name && r->namespace_name() == namespace_name) return r;
  return nullptr;
}

const Role* RoleTable::role_of(const Binding& b) const {
  // No namespace of roles is named "": there, a Role is not to be taken for a ClusterRole.
  if (b.role_kind() == Binding::RoleKind::kOther ||
      (b.role_kind() == Binding::RoleKind::kRole && b.is_cluster_binding()))
    return nullptr;
  for (const Role* r : roles_.find(b.role_hash()))
    if (r->name() == b.role_name() && r->namespace_name() == b.role_namespace()) return r;
  return nullptr;
}

const Subject* RoleTable::find_allowing(const Attributes& a, bool& is_broken) const {
  RuleQuery query(a);
  Identities who(a.user);
  is_broken = false;
  // With many namespaces their grants are in memory that was not read for long: it is prefetched
  // early and together.
  const std::uint64_t where = hash_name(a.namespace_name);
  const bool is_local = !a.namespace_name.empty();
  std::array<std::span<const Subject* const>, 8> found_early;
  if (is_local) {
    const std::size_t early = std::min(who.count(), found_early.size());
    for (std::size_t i = 0; i < early; ++i) local_.prefetch(hash_in(where, who.hash(i)));
    for (std::size_t i = 0; i < early; ++i) {
      found_early[i] = local_.find(hash_in(where, who.hash(i)));
      if (!found_early[i].empty()) found_early[i][0]->prefetch();
    }
  }
  const Subject* best = nullptr;
  auto look_at = [&](std::size_t i, std::span<const Subject* const> found,
                     std::string_view namespace_name) {
    for (const Subject* s : found) {
      if (!who.is(i, *s) || s->binding().namespace_name() != namespace_name) continue;
      if (best && !comes_before(*s, *best)) break;
      const Role* role = role_of(s->binding());
      if (!role)
        is_broken = true;
      else if (role->allowing(query)) {
        best = s;
        break;
      }
    }
  };
  for (std::size_t i = 0; i < who.count(); ++i) look_at(i, cluster_.find(who.hash(i)), "");
  if (best) return best;
  for (std::size_t i = 0; is_local && i < who.count(); ++i)
    look_at(i, i < found_early.size() ? found_early[i] : local_.find(hash_in(where, who.hash(i))),
            a.namespace_name);
  return best;
}

std::vector<const Subject*> RoleTable::grants_of(const User& user,
                                                 std::string_view namespace_name) const {
  Identities who(user);
  std::vector<const Subject*> out;
  for (std::string_view where : {std::string_view(), namespace_name}) {
    if (where.empty() && !out.empty()) break;
    std::vector<const Subject*> found;
    if (const Grants* grants = grants_in(where))
      collect(*grants, who, [&](const Subject* s) { found.push_back(s); });
    std::ranges::sort(found,
                      [](const Subject* a, const Subject* b) { return comes_before(*a, *b); });
    auto same = [](const Subject* a, const Subject* b) { return &a->binding() == &b->binding(); };
    found.erase(std::unique(found.begin(), found.end(), same), found.end());
    out.insert(out.end(), found.begin(), found.end());
    if (namespace_name.empty()) break;
  }
  return out;
}

std::vector<std::string> RoleTable::errors_for(const User& user, std::string_view namespace_name,
                                               std::string_view as) const {
  std::vector<std::string> out;
  for (const Subject* s : grants_of(user, namespace_name)) {
    if (role_of(s->binding())) continue;
    std::string error = missing_role(s->binding(), as);
    if (std::ranges::find(out, error) == out.end()) out.push_back(std::move(error));
  }
  return out;
}

void RoleTable::for_each_allowed(const Attributes& a, const Visit& visit) const {
  RuleQuery query(a);
  const Grants* local = a.namespace_name.empty() ? nullptr : grants_in(a.namespace_name);
  for (const Grants* grants : {&cluster_, local}) {
    if (!grants) continue;
    std::vector<const Subject*> all;
    grants->for_each([&](const Subject* s) { all.push_back(s); });
    std::ranges::sort(all, [](const Subject* x, const Subject* y) { return comes_before(*x, *y); });
    for (const Subject* s : all) {
      const Role* role = role_of(s->binding());
      const PolicyRule* rule = role ? role->allowing(query) : nullptr;
      if (rule) visit(*s, *role, *rule);
    }
  }
}

std::size_t RoleTable::bindings_in(std::string_view namespace_name) const {
  const Grants* grants = grants_in(namespace_name);
  return grants ? grants->size() : 0;
}

std::string RoleTable::explain(std::uint64_t key) const {
  const Subject& s = *reinterpret_cast<const Subject*>(key);
  const Binding& b = s.binding();
  std::string binding = b.is_cluster_binding()
                            ? cat("ClusterRoleBinding ", quoted(b.name()))
                            : cat("RoleBinding ", quoted(cat(b.name(), "/", b.namespace_name())));
  std::string subject = s.kind() == Subject::Kind::kServiceAccount
                            ? cat(s.name(), "/", s.namespace_name())
                            : std::string(s.name());
  return cat("RBAC: allowed by ", binding, " of ", b.role_kind_name(), " ", quoted(b.role_name()),
             " to ", s.kind_name(), " ", quoted(subject));
}

std::vector<Ground> RoleTable::grounds(std::uint64_t key) const {
  const Binding& b = reinterpret_cast<const Subject*>(key)->binding();
  return {
      {b.is_cluster_binding() ? "clusterrolebindings" : "rolebindings", b.namespace_name(),
       b.name()},
      {b.role_namespace().empty() ? "clusterroles" : "roles", b.role_namespace(), b.role_name()}};
}

}  // namespace cardea::authz::rbac
