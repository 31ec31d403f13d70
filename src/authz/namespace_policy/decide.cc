#include "authz/namespace_policy/decide.h"

#include <algorithm>
#include <array>

#include "authz/namespace_policy/denial.h"
#include "base/strings.h"

namespace cardea::authz::namespace_policy {
namespace {

using Effect = Condition::Effect;

// The user and the groups with their hashes: those of ordinary users fit on the stack.
class Identities {
 public:
  explicit Identities(const User& user) : user_(user), user_hash_(Grant::user_hash(user.name)) {
    std::size_t known = std::min(user.groups.size(), group_hashes_.size());
    for (std::size_t i = 0; i < known; ++i) group_hashes_[i] = Grant::group_hash(user.groups[i]);
  }
  std::size_t count() const { return user_.groups.size() + 1; }
  std::uint64_t hash(std::size_t i) const {
    if (i == 0) return user_hash_;
    return i <= group_hashes_.size() ? group_hashes_[i - 1]
                                     : Grant::group_hash(user_.groups[i - 1]);
  }
  bool is(std::size_t i, const Grant& g) const {
    return i == 0 ? !g.is_group && g.subject == user_.name
                  : g.is_group && g.subject == user_.groups[i - 1];
  }

 private:
  const User& user_;
  std::uint64_t user_hash_;
  std::array<std::uint64_t, 32> group_hashes_;
};

struct Found {
  const Grant* grant = nullptr;
  std::size_t rule = 0;
};

// What the rules of one level say.
struct Level {
  Found deny, allow;
  bool deny_is_restricted = false;  // it holds only because it cannot be decided
  bool deny_is_by_name = false;     // it names objects that the request would reach among others
  std::string deny_as;  // the effect of the request that is denied, if it is not the request
                        // itself; for messages
  std::string error;
  std::vector<std::pair<const CompiledRole*, std::size_t>> seen;  // with conditions
  std::vector<Condition> deny_if, allow_if;

  // Whether the rule was met before, by another binding.
  bool met(const CompiledRole& role, std::size_t rule) {
    auto one = std::pair(&role, rule);
    if (std::ranges::find(seen, one) != seen.end()) return true;
    seen.push_back(one);
    return false;
  }
};

// One question, at both levels.
class Asking {
 public:
  Asking(const Index& index, const Attributes& a, const Surroundings& s)
      : index_(index), attributes_(a), surroundings_(s), words_(a, s.kinds), who_(a.user) {}

  void prefetch(const Index::Scope& scope) const {
    for (std::size_t i = 0; i < who_.count(); ++i) scope.prefetch(who_.hash(i));
  }

  // `all`: goes on after a denial, so that what would have allowed is found too.
  void look(const Index::Scope& scope, bool all, Level& out) const {
    if (!scope.problem().empty()) {
      out.error = scope.problem();
      return;
    }
    for (std::size_t i = 0; i < who_.count(); ++i) {
      for (const Grant* g : scope.find(who_.hash(i))) {
        if (!who_.is(i, *g)) continue;
        const CompiledRole* role = index_.role(*g);
        if (!role || !role->problem().empty()) {
          if (out.error.empty()) out.error = unusable(*g, role);
          continue;
        }
        look(*g, *role, out);
        if (out.deny.grant && !all) return;
      }
    }
  }

 private:
  static std::string unusable(const Grant& g, const CompiledRole* role) {
    std::string name = quoted(cat(g.role.namespace_name, "/", g.role.name));
    return role ? cat("role ", name, " cannot be read: ", role->problem())
                : cat("role ", name, " not found");
  }

  void look(const Grant& g, const CompiledRole& role, Level& out) const {
    if (out.allow.grant && !role.has_deny()) return;
    for (std::size_t i = 0; i < role.rules().size(); ++i) {
      if (role.rules()[i].deny)
        look_at_denial(g, role, i, out);
      else
        look_at_leave(g, role, i, out);
    }
  }

  void look_at_leave(const Grant& g, const CompiledRole& role, std::size_t i, Level& out) const {
    if (out.allow.grant) return;
    Match match = role.matches(i, words_);
    if (match == Match::kNo) return;
    if (role.rules()[i].restriction.kind == Restriction::Kind::kNone) {
      out.allow = {&g, i};
      return;
    }
    Restricted restricted(role, i, match, attributes_, surroundings_);
    std::optional<bool> now = restricted.now();
    // Who cannot wait for the object gets nothing that it might allow.
    if (!now && !attributes_.takes_conditions) return;
    if (now && *now) out.allow = {&g, i};
    if (!now && !out.met(role, i)) out.allow_if.push_back(restricted.later());
  }

  void look_at_denial(const Grant& g, const CompiledRole& role, std::size_t i, Level& out) const {
    if (out.deny.grant) return;
    if (!denials_) denials_.emplace(words_, surroundings_.kinds);
    const Restriction::Kind kind = role.rules()[i].restriction.kind;
    std::size_t before = out.deny_if.size();
    Match own = Match::kNo;
    bool is_met = false;
    denials_->for_each(
        role, i, [&](Match match, const IndirectEffect* effect, const RequestWords& words) {
          // A restriction that does not ask what is done is the same for another word for it.
          if (effect && !effect->on_parent && match == own && kind != Restriction::Kind::kCel)
            return true;
          if (!effect) own = match;
          Restricted restricted(role, i, match, words.attributes, surroundings_, effect);
          std::optional<bool> now = restricted.now();
          if (!now && !attributes_.takes_conditions) {
            // Who cannot wait for the object is denied what it might deny.
            now = true;
            out.deny_is_restricted = true;
          }
          if (now && *now) {
            out.deny = {&g, i};
            out.deny_is_by_name = match == Match::kReached;
            if (effect) out.deny_as = as_text(*effect);
            return false;
          }
          if (now) return true;
          if (out.deny_if.size() == before) is_met = out.met(role, i);
          if (!is_met) out.deny_if.push_back(restricted.later(out.deny_if.size() - before));
          return true;
        });
  }

  const Index& index_;
  const Attributes& attributes_;
  const Surroundings& surroundings_;
  RequestWords words_;
  Identities who_;
  mutable std::optional<DenialWords> denials_;  // made for the first denial
};

Explanation because(const std::shared_ptr<const Index>& index, const Found& found) {
  return {index, Index::key(*found.grant, found.rule)};
}

Decision combined(const std::shared_ptr<const Index>& index, Level& level) {
  if (level.deny.grant) {
    if (level.deny_is_by_name)
      return Decision::deny(cat(because(index, level.deny).text(), ": ", kAskByName));
    if (!level.deny_as.empty())
      return Decision::deny(cat(because(index, level.deny).text(), ": ", level.deny_as));
    if (!level.deny_is_restricted) return Decision::deny(because(index, level.deny));
    return Decision::deny(
        cat(because(index, level.deny).text(), ", whose restriction depends on the object"));
  }
  if (!level.error.empty())
    return {Decision::Kind::kDeny, "policy cannot be evaluated", std::move(level.error), nullptr};
  bool may_allow = level.allow.grant || !level.allow_if.empty();
  if (level.deny_if.empty() && !may_allow) return Decision::no_opinion();
  if (level.deny_if.empty() && level.allow.grant)
    return Decision::allow(because(index, level.allow));
  Conditions::Set set;
  auto by_id = [](const Condition& a, const Condition& b) { return a.id < b.id; };
  std::ranges::sort(level.deny_if, by_id);
  std::ranges::sort(level.allow_if, by_id);
  set.conditions = std::move(level.deny_if);
  if (level.allow.grant) {
    const CompiledRole& role = *index->role(*level.allow.grant);
    set.conditions.push_back({.effect = Effect::kAllow,
                              .id = condition_id(role, level.allow.rule),
                              .type = std::string(kCelType),
                              .text = "true",
                              .description = cat("rule ", level.allow.rule, " of role ",
                                                 role.namespace_name(), "/", role.name()),
                              .compiled = nullptr});
  } else {
    for (Condition& c : level.allow_if) set.conditions.push_back(std::move(c));
  }
  return conditional_on(std::move(set), Author::kOwnChecked);
}

bool is_final(const Decision& d) {
  return d.kind == Decision::Kind::kAllow || d.kind == Decision::Kind::kDeny;
}

Decision joined(Decision master, Decision local) {
  if (master.kind == Decision::Kind::kNoOpinion && master.error.empty()) return local;
  return fold({{"master.policy", std::move(master)}, {"namespace.policy", std::move(local)}});
}

const Index::Scope* local_scope(const Index& index, const Attributes& a) {
  bool is_local = a.is_resource_request && !a.above_namespaces && !a.namespace_name.empty() &&
                  a.namespace_name != index.master();
  return is_local ? index.scope(a.namespace_name) : nullptr;
}

}  // namespace

Decision decide(const std::shared_ptr<const Index>& index, const Attributes& a,
                const Surroundings& surroundings) {
  const Index::Scope* master = index->scope(index->master());
  const Index::Scope* local = local_scope(*index, a);
  if (!master && !local) return Decision::no_opinion();
  Asking asking(*index, a, surroundings);
  if (local) asking.prefetch(*local);
  Decision first = Decision::no_opinion();
  if (master) {
    Level level;
    asking.look(*master, false, level);
    first = combined(index, level);
    if (is_final(first)) return first;
  }
  if (!local) return first;
  Level level;
  asking.look(*local, false, level);
  return joined(std::move(first), combined(index, level));
}

Answer decide_with_reasons(const std::shared_ptr<const Index>& index, const Attributes& a,
                           const Surroundings& surroundings) {
  Answer out;
  out.decision = decide(index, a, surroundings);
  Asking asking(*index, a, surroundings);
  for (const Index::Scope* scope : {index->scope(index->master()), local_scope(*index, a)}) {
    if (!scope) continue;
    Level level;
    asking.look(*scope, true, level);
    if (level.allow.grant && out.allowed_by.empty())
      out.allowed_by = because(index, level.allow).text();
  }
  if (out.decision.allowed()) return out;
  out.denied_because = out.decision.kind == Decision::Kind::kDeny ? out.decision.reason.text()
                                                                  : "denied by default";
  if (out.decision.kind == Decision::Kind::kConditional) out.denied_because = "conditional";
  return out;
}

}  // namespace cardea::authz::namespace_policy
