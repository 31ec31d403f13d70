#include "authz/namespace_policy/index.h"

#include <algorithm>

#include "authz/rbac/hash.h"
#include "base/strings.h"

namespace cardea::authz::namespace_policy {
namespace {

using json::Value;

constexpr unsigned kRuleShift = 48;  // addresses need no more bits
constexpr std::uint64_t kMostShown = 0xffff;

std::string first_of(const json::FieldErrors& errors) {
  return errors.empty() ? "" : errors.front().message();
}

// Calls `visit` with each element that differs: how it was and how it is, null where it is not.
template <typename Visit>
void for_each_change(const Value& before, const Value& after, Visit visit) {
  for (const json::Member& m : before.members()) {
    const Value* now = after.find(m.key());
    if (!now || !(*now == m.value)) visit(m.key(), &m.value, now);
  }
  for (const json::Member& m : after.members())
    if (!before.has(m.key())) visit(m.key(), nullptr, &m.value);
}

}  // namespace

std::uint64_t Grant::user_hash(std::string_view user) {
  return rbac::hash_name(user, 1);
}
std::uint64_t Grant::group_hash(std::string_view group) {
  return rbac::hash_name(group, 2);
}
std::uint64_t Index::ScopeTraits::hash(Item s) {
  return rbac::hash_name(s->name());
}

Index::Index(std::string master, std::shared_ptr<const ResourceGroups> groups)
    : master_(std::move(master)), groups_(std::move(groups)) {
  if (!groups_) groups_ = std::make_shared<const ResourceGroups>(ResourceGroups::built_in());
}

std::vector<const Grant*> Index::Scope::all() const {
  std::vector<const Grant*> out;
  grants_.for_each([&](const Grant* g) { out.push_back(g); });
  std::ranges::sort(out, [](const Grant* a, const Grant* b) {
    return std::tie(a->binding, a->is_group, a->subject) <
           std::tie(b->binding, b->is_group, b->subject);
  });
  return out;
}

const Index::Scope* Index::scope(std::string_view namespace_name) const {
  for (const Scope* s : scopes_.find(rbac::hash_name(namespace_name)))
    if (s->name_ == namespace_name) return s;
  return nullptr;
}

Index::Scope& Index::own_scope(std::string_view namespace_name) {
  auto is_it = [&](const Scope* s) { return s->name_ == namespace_name; };
  std::uint64_t hash = rbac::hash_name(namespace_name);
  Scope** slot = scopes_.edit(hash, is_it);
  if (!slot) {
    Scope* scope = new Scope();
    scope->name_ = namespace_name;
    scopes_.insert(scope);
    ScopeTraits::release(scope);
    slot = scopes_.edit(hash, is_it);
  }
  if (!(*slot)->is_unique()) {
    Scope* copy = new Scope();
    copy->name_ = (*slot)->name_;
    copy->problem_ = (*slot)->problem_;
    copy->problems_ = (*slot)->problems_;
    copy->grants_ = (*slot)->grants_;
    ScopeTraits::release(std::exchange(*slot, copy));
  }
  return **slot;
}

void Index::forget_empty(std::string_view namespace_name) {
  const Scope* s = scope(namespace_name);
  if (!s || s->grants_.size() != 0 || !s->problem_.empty()) return;
  scopes_.erase(rbac::hash_name(namespace_name),
                [&](const Scope* one) { return one->name_ == namespace_name; });
}

void Index::put_role(std::string_view namespace_name, std::string_view name, const Value* element) {
  auto may_deny = [](const CompiledRole& r) { return r.has_deny() || !r.problem().empty(); };
  if (const CompiledRole* was = find_role(namespace_name, name); was && may_deny(*was))
    --denying_roles_;
  roles_.erase(CompiledRole::hash(namespace_name, name), [&](const CompiledRole* r) {
    return r->name() == name && r->namespace_name() == namespace_name;
  });
  if (!element) return;
  json::FieldErrors errors;
  Role role = read_role(*element, {namespace_name, master_}, cat("roles[", name, "]"), errors);
  const CompiledRole* compiled = new CompiledRole(namespace_name, name, std::move(role.rules),
                                                  first_of(errors), *groups_);
  roles_.insert(compiled);
  if (may_deny(*compiled)) ++denying_roles_;
  RoleTraits::release(compiled);
}

void Index::change_policy(std::string_view namespace_name, const Value& before,
                          const Value& after) {
  for_each_change(before["roles"], after["roles"],
                  [&](std::string_view name, const Value*, const Value* now) {
                    put_role(namespace_name, name, now);
                  });
}

void Index::add_binding(Scope& scope, const RoleBinding& binding, std::string_view name) {
  auto add = [&](const std::string& subject, bool is_group) {
    Grant* grant = new Grant();
    grant->is_group = is_group;
    grant->subject = subject;
    grant->hash = is_group ? Grant::group_hash(subject) : Grant::user_hash(subject);
    grant->role = binding.role;
    // Only these two can be referred to; another stays unresolved.
    bool is_reachable = binding.role.namespace_name == scope.name_ ||
                        binding.role.namespace_name == master_;
    grant->role_hash = is_reachable
                           ? CompiledRole::hash(binding.role.namespace_name, binding.role.name)
                           : 0;
    grant->namespace_name = scope.name_;
    grant->binding = name;
    scope.grants_.insert(grant);
    Scope::GrantTraits::release(grant);
  };
  for (const std::string& user : binding.user_names) add(user, false);
  for (const std::string& group : binding.group_names) add(group, true);
}

void Index::remove_binding(Scope& scope, const RoleBinding& binding, std::string_view name) {
  auto remove = [&](const std::string& subject, bool is_group) {
    scope.grants_.erase(is_group ? Grant::group_hash(subject) : Grant::user_hash(subject),
                        [&](const Grant* g) {
                          return g->is_group == is_group && g->subject == subject &&
                                 g->binding == name && g->role == binding.role;
                        });
  };
  for (const std::string& user : binding.user_names) remove(user, false);
  for (const std::string& group : binding.group_names) remove(group, true);
}

void Index::change_bindings(std::string_view namespace_name, std::string_view name,
                            const Value& before, const Value& after) {
  Scope& own = own_scope(namespace_name);
  Place place{namespace_name, master_};
  // The subjects of an unreadable binding are not known, nor whether it denies.
  json::FieldErrors errors;
  auto read = [&](std::string_view key, const Value& element, json::FieldErrors& into) {
    return read_role_binding(element, place, cat("roleBindings[", key, "]"), into);
  };
  for_each_change(before["roleBindings"], after["roleBindings"],
                  [&](std::string_view key, const Value* was, const Value* now) {
                    json::FieldErrors ignored;
                    if (was) remove_binding(own, read(key, *was, ignored), key);
                    if (now) add_binding(own, read(key, *now, ignored), key);
                  });
  for (const json::Member& m : after["roleBindings"].members()) read(m.key(), m.value, errors);
  const Value& elements = after["roleBindings"];
  std::string problem = first_of(errors);
  if (!after.is_null() && (!after.is_object() || (!elements.is_null() && !elements.is_object())))
    problem = "is not a PolicyBinding";
  if (problem.empty())
    own.problems_.erase(std::string(name));
  else
    own.problems_.insert_or_assign(std::string(name), std::move(problem));
  if (!own.problem_.empty()) --unread_scopes_;
  own.problem_.clear();
  if (!own.problems_.empty()) ++unread_scopes_;
  if (!own.problems_.empty())
    own.problem_ = cat("policybinding ",
                       quoted(cat(namespace_name, "/", own.problems_.begin()->first)),
                       " cannot be read: ", own.problems_.begin()->second);
  forget_empty(namespace_name);
}

const CompiledRole* Index::find_role(std::string_view namespace_name, std::string_view name) const {
  for (const CompiledRole* r : roles_.find(CompiledRole::hash(namespace_name, name)))
    if (r->name() == name && r->namespace_name() == namespace_name) return r;
  return nullptr;
}

const CompiledRole* Index::role(const Grant& g) const {
  if (g.role_hash == 0) return nullptr;
  for (const CompiledRole* r : roles_.find(g.role_hash))
    if (r->name() == g.role.name && r->namespace_name() == g.role.namespace_name) return r;
  return nullptr;
}

bool Index::binds(const RoleRef& role, const User& user) const {
  bool found = false;
  scopes_.for_each([&](const Scope* s) {
    auto look = [&](std::uint64_t hash) {
      for (const Grant* g : s->find(hash)) found |= g->role == role && g->is_of(user);
    };
    look(Grant::user_hash(user.name));
    for (const std::string& group : user.groups) look(Grant::group_hash(group));
  });
  return found;
}

bool Index::may_deny_somewhere(const User& user) const {
  bool found = false;
  scopes_.for_each([&](const Scope* s) {
    if (found || s->name() == master_) return;
    found = !s->problem().empty();
    auto look = [&](std::uint64_t hash) {
      for (const Grant* g : s->find(hash)) {
        if (!g->is_of(user)) continue;
        const CompiledRole* bound = role(*g);
        found |= !bound || !bound->problem().empty() || bound->has_deny();
      }
    };
    look(Grant::user_hash(user.name));
    for (const std::string& group : user.groups) look(Grant::group_hash(group));
  });
  return found;
}

std::uint64_t Index::key(const Grant& grant, std::size_t rule) {
  return reinterpret_cast<std::uint64_t>(&grant) | std::min<std::uint64_t>(rule, kMostShown)
                                                       << kRuleShift;
}

std::string Index::explain(std::uint64_t key) const {
  const Grant& grant = *reinterpret_cast<const Grant*>(key &
                                                       ((std::uint64_t{1} << kRuleShift) - 1));
  std::size_t rule = key >> kRuleShift;
  const CompiledRole* role = this->role(grant);
  const Rule* found = role && rule < role->rules().size() ? &role->rules()[rule] : nullptr;
  return cat(found && found->deny ? "denied" : "allowed", " by rule in ", grant.namespace_name,
             ": rule ", rule, " of role ",
             quoted(cat(grant.role.namespace_name, "/", grant.role.name)), ", bound by ",
             quoted(grant.binding), found && !found->description.empty() ? ": " : "",
             found ? found->description : std::string());
}

}  // namespace cardea::authz::namespace_policy
