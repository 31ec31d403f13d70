#include "authz/namespace_policy/policy_authorizer.h"

#include <algorithm>
#include <set>

#include "authz/namespace_policy/denial.h"
#include "authz/namespace_policy/parts.h"
#include "base/strings.h"

namespace cardea::authz::namespace_policy {
namespace {

Task<Decision> evaluated(std::shared_ptr<const Conditions> conditions, const ConditionData& data,
                         const Surroundings& surroundings, ConditionMeter* meter) {
  SecondaryChecks checks(data.authorizer, data.user);
  Decision open = Decision::conditional(conditions);
  Stopwatch watch;
  for (;;) {
    WithParent<RestrictionRuns, SecondaryChecks&, const Surroundings&> runs(data, checks,
                                                                            surroundings);
    Decision outcome = partially_evaluated(open, runs);
    if (!checks.is_waiting()) {
      if (meter) meter->took(true, watch.elapsed());
      co_return outcome;
    }
    bool goes_on = co_await checks.wait();
    if (!goes_on) co_return failed(open, "an expression asks the authorizer too much");
  }
}

bool is_plain(const std::vector<std::string>& words) {
  return std::ranges::none_of(words, [](const std::string& w) { return w.starts_with('-'); });
}

// Users may ask about themselves without a binding. Reviews of others have the same resource, so
// that the content of the review decides.
const CompiledRole& self_reviews() {
  auto role = [] {
    Rule rule;
    rule.verbs = {"create"};
    rule.resource_kinds = {"subjectaccessreviews", "localsubjectaccessreviews",
                           "selfsubjectrulesreviews"};
    rule.api_groups = {std::string(kGroup)};
    rule.restriction.kind = Restriction::Kind::kPersonalReview;
    return CompiledRole("everywhere", "self-reviews", {rule}, "", ResourceGroups::built_in());
  };
  static const CompiledRole all = role();
  return all;
}

Decision with_self_reviews(Decision decided, const Attributes& a,
                           const Surroundings& surroundings) {
  if (a.api_group != kGroup || decided.kind != Decision::Kind::kNoOpinion ||
      !decided.error.empty() || !a.takes_conditions ||
      std::ranges::find(a.user.groups, kAuthenticatedGroup) == a.user.groups.end())
    return decided;
  const CompiledRole& role = self_reviews();
  if (role.matches(0, RequestWords(a, surroundings.kinds)) != Match::kYes) return decided;
  Conditions::Set set;
  set.conditions.push_back(Restricted(role, 0, Match::kYes, a, surroundings).later());
  return conditional_on(std::move(set), Author::kOwnChecked);
}

// One policy that stays as it is.
class FrozenPolicy : public Authorizer {
 public:
  FrozenPolicy(std::shared_ptr<const Index> index, Surroundings surroundings)
      : index_(std::move(index)),
        nodes_(surroundings.nodes ? surroundings.nodes->frozen() : nullptr),
        surroundings_(std::move(surroundings)) {
    surroundings_.nodes = nodes_.get();
  }
  std::string_view name() const override { return "policy"; }
  std::string_view type() const override { return "Policy"; }
  std::optional<Decision> authorize(const Attributes& attributes) const override {
    return with_self_reviews(
        index_->empty() ? Decision::no_opinion() : decide(index_, attributes, surroundings_),
        attributes, surroundings_);
  }
  Task<Decision> evaluate(std::shared_ptr<const Conditions> conditions,
                          const ConditionData& data) const override {
    return evaluated(std::move(conditions), data, surroundings_, nullptr);
  }
  void add_allowed(const Attributes& attributes, AllowedSubjects& allowed) const override {
    add_allowed_by(*index_, attributes, surroundings_, allowed);
  }
  bool may_deny() const override { return index_->may_deny(); }

 private:
  std::shared_ptr<const Index> index_;
  std::shared_ptr<const node::Graph> nodes_;
  Surroundings surroundings_;
};

// The subjects and their bindings, at one level.
struct LevelSubjects {
  struct Entry {
    const Grant* grant;
    const CompiledRole* role;
    std::size_t rule;
  };
  std::vector<Entry> allowed;
  std::set<std::pair<bool, std::string>> denied;  // by themselves: group or user, name
  bool is_restricted = false, is_broken = false;
};

LevelSubjects subjects_at(const Index& index, const Index::Scope& scope, const Attributes& a,
                          const Surroundings& surroundings) {
  LevelSubjects out;
  out.is_broken = !scope.problem().empty();
  if (out.is_broken) return out;
  RequestWords words(a, surroundings.kinds);
  DenialWords denials(words, surroundings.kinds);
  for (const Grant* g : scope.all()) {
    const CompiledRole* role = index.role(*g);
    if (!role || !role->problem().empty()) {
      out.is_broken = true;
      out.denied.emplace(g->is_group, g->subject);
      continue;
    }
    bool is_listed = false;
    for (std::size_t i = 0; i < role->rules().size(); ++i) {
      const Rule& rule = role->rules()[i];
      // A restriction may hold for some objects, or for this one: its subjects are listed, with a
      // remark.
      auto is_open = [&](Match match) {
        return (match != Match::kYes && match != Match::kReached) ||
               (rule.restriction.kind != Restriction::Kind::kNone && !role->is_broken(i));
      };
      if (rule.deny) {
        denials.for_each(*role, i, [&](Match match, const IndirectEffect*, const RequestWords&) {
          bool open = is_open(match);
          out.is_restricted |= open;
          if (!open) out.denied.emplace(g->is_group, g->subject);
          return open;
        });
        continue;
      }
      Match match = role->matches(i, words);
      if (match == Match::kNo || is_listed) continue;
      out.is_restricted |= is_open(match);
      out.allowed.push_back({g, role, i});
      is_listed = true;
    }
  }
  return out;
}

// Some of the denied users, for a human reader.
std::string names_of(const std::set<std::pair<bool, std::string>>& denied, bool groups) {
  constexpr std::size_t kMostNames = 16;
  std::vector<std::string> names;
  for (const auto& [is_group, name] : denied)
    if (is_group == groups) names.push_back(quoted(name));
  std::size_t more = names.size() > kMostNames ? names.size() - kMostNames : 0;
  names.resize(names.size() - more);
  return more ? cat(join(names, ", "), " and ", more, " more") : join(names, ", ");
}

}  // namespace

PolicyAuthorizer::PolicyAuthorizer(const Snapshot<Index>& documents, Surroundings surroundings,
                                   MetricRegistry* metrics)
    : documents_(documents),
      surroundings_(std::move(surroundings)),
      meter_(metrics ? std::make_shared<ConditionMeter>(*metrics, "policy") : nullptr) {}

std::optional<Decision> PolicyAuthorizer::authorize(const Attributes& attributes) const {
  const std::shared_ptr<const Index>& index = documents_.get();
  return with_self_reviews(
      index->empty() ? Decision::no_opinion() : decide(index, attributes, surroundings_),
      attributes, surroundings_);
}

Task<Decision> PolicyAuthorizer::evaluate(std::shared_ptr<const Conditions> conditions,
                                          const ConditionData& data) const {
  return evaluated(std::move(conditions), data, surroundings_, meter_.get());
}

Answer PolicyAuthorizer::explain(const Attributes& attributes) const {
  std::shared_ptr<const Index> index = documents_.get();
  return decide_with_reasons(index, attributes, surroundings_);
}

std::shared_ptr<const Authorizer> PolicyAuthorizer::frozen() const {
  return authorizer_of(documents_.get(), surroundings_);
}

std::shared_ptr<const Authorizer> authorizer_of(std::shared_ptr<const Index> index,
                                                Surroundings surroundings) {
  return std::make_shared<FrozenPolicy>(std::move(index), std::move(surroundings));
}

void PolicyAuthorizer::add_rules(const User& user, std::string_view namespace_name,
                                 Rules& rules) const {
  std::shared_ptr<const Index> index = documents_.get();
  const std::size_t before = rules.resource_rules.size(),
                    denied_before = rules.denied_resources.size();
  auto resources_of = [&](const std::vector<std::string>& kinds) {
    std::vector<std::string> out;
    for (const std::string& k : kinds) {
      const auto slash = std::min(k.find('/'), k.size());
      auto known = surroundings_.kinds ? surroundings_.kinds->resources_of(k.substr(0, slash))
                                       : std::vector<std::pair<std::string, std::string>>();
      for (const auto& [group, resource] : known)
        if (std::string full = resource + k.substr(slash);
            std::ranges::find(out, full) == out.end())
          out.push_back(std::move(full));
      if (known.empty()) out.push_back(k);
    }
    return out;
  };
  // Verbs stand for others, and negations for all but themselves: of a denial only its own words
  // are reported.
  auto deny = [&](const std::vector<std::string>& kinds, const std::vector<std::string>& names,
                  const std::vector<std::string>& urls) {
    if (!kinds.empty())
      rules.denied_resources.push_back(
          {{"*"},
           {"*"},
           is_plain(kinds) ? resources_of(kinds) : std::vector<std::string>{"*"},
           names});
    if (!urls.empty()) rules.denied_paths.push_back({{"*"}, urls});
  };
  auto deny_all = [&] { deny({"*"}, {}, {"*"}); };
  auto add = [&](const CompiledRole& role, std::size_t i, bool is_master) {
    const Rule& rule = role.rules()[i];
    if (role.is_broken(i))
      deny_all();
    else if (rule.deny)
      deny(role.kinds_of(i), rule.resource_names,
           is_master ? rule.non_resource_urls : std::vector<std::string>());
    if (rule.deny || rule.restriction.kind != Restriction::Kind::kNone || !is_plain(rule.verbs) ||
        !is_plain(rule.resource_kinds)) {
      rules.incomplete = true;
      return;
    }
    std::vector<std::string> groups = rule.api_groups.empty() ? std::vector<std::string>{"*"}
                                                              : rule.api_groups;
    std::vector<std::string> kinds = resources_of(role.kinds_of(i));
    auto listed = with_parts(rule.verbs, kinds, surroundings_.kinds);
    if (!listed) listed.emplace(1, Listed{rule.verbs, kinds});
    if (!kinds.empty())
      for (Listed& one : *listed)
        rules.resource_rules.push_back({.verbs = std::move(one.verbs),
                                        .api_groups = groups,
                                        .resources = std::move(one.resources),
                                        .resource_names = rule.resource_names,
                                        .leaves_out_excluded = !allows_everything(rule)});
    if (is_master && !rule.non_resource_urls.empty())
      rules.non_resource_rules.push_back({rule.verbs, rule.non_resource_urls});
  };
  // A question about the whole cluster includes the denials of every namespace.
  if (namespace_name.empty() && index->may_deny_somewhere(user)) deny_all();
  for (std::string_view where : {std::string_view(index->master()), namespace_name}) {
    bool is_master = where == index->master();
    const Index::Scope* scope = where.empty() ||
                                        (is_master && where.data() != index->master().data())
                                    ? nullptr
                                    : index->scope(where);
    if (!scope) continue;
    if (!scope->problem().empty()) {
      deny_all();
      rules.incomplete = true;
      rules.errors.push_back(scope->problem());
      continue;
    }
    std::set<const CompiledRole*> seen;
    for (const Grant* g : scope->all()) {
      if (!g->is_of(user)) continue;
      const CompiledRole* role = index->role(*g);
      if (!role || !role->problem().empty()) {
        deny_all();
        rules.incomplete = true;
        rules.errors.push_back(cat("role ", quoted(cat(g->role.namespace_name, "/", g->role.name)),
                                   " cannot be used"));
        continue;
      }
      if (!seen.insert(role).second) continue;
      for (std::size_t i = 0; i < role->rules().size(); ++i) add(*role, i, is_master);
    }
  }
  // Everything is not everything where something is denied.
  if (rules.denied_resources.size() > denied_before)
    for (std::size_t i = before; i < rules.resource_rules.size(); ++i)
      rules.resource_rules[i].leaves_out_excluded = true;
}

void add_allowed_by(const Index& index, const Attributes& a, const Surroundings& surroundings,
                    AllowedSubjects& allowed) {
  const Index::Scope* master = index.scope(index.master());
  bool is_local = a.is_resource_request && !a.namespace_name.empty() &&
                  a.namespace_name != index.master();
  const Index::Scope* local = is_local ? index.scope(a.namespace_name) : nullptr;
  std::set<std::pair<bool, std::string>> denied;
  bool is_restricted = false, is_broken = false;
  // Subjects that an earlier authorizer allows are listed by it; subjects that later ones list
  // and this one denies are removed by the chain.
  for (const Index::Scope* scope : {master, local}) {
    if (!scope) continue;
    LevelSubjects level = subjects_at(index, *scope, a, surroundings);
    is_restricted |= level.is_restricted;
    is_broken |= level.is_broken;
    denied.merge(level.denied);
    for (const LevelSubjects::Entry& e : level.allowed) {
      if (denied.contains({e.grant->is_group, e.grant->subject})) continue;
      allowed.subjects.push_back({.kind = e.grant->is_group ? "Group" : "User",
                                  .name = e.grant->subject,
                                  .namespace_name = "",
                                  .binding_kind = "RoleBinding",
                                  .binding_namespace = e.grant->namespace_name,
                                  .binding = e.grant->binding,
                                  .role_kind = "Role",
                                  .role = e.role->name(),
                                  .rule = as_json(e.role->rules()[e.rule])});
    }
  }
  // A denial of a namespace does not reach what the master namespace or an earlier authorizer
  // allows.
  for (const AllowedSubject& s : allowed.subjects) {
    const bool is_account = s.kind == "ServiceAccount";
    denied.erase(
        {s.kind == "Group",
         is_account ? cat("system:serviceaccount:", s.namespace_name, ":", s.name) : s.name});
  }
  auto remark = [&](bool is_so, std::string text) {
    if (!is_so) return;
    allowed.incomplete = true;
    allowed.remarks.push_back(std::move(text));
  };
  remark(
      is_restricted,
      "conditional: rules of namespace policy allow or deny some of this depending on the object");
  std::string users = names_of(denied, false), groups = names_of(denied, true);
  remark(!groups.empty(), cat("namespace policy denies this to members of ", groups,
                              ": those listed may be among them"));
  remark(!users.empty(), cat("namespace policy denies this to ", users,
                             "; these users may be members of a listed group"));
  remark(is_broken, "some namespace policies cannot be read; they deny the users that they name");
}

void PolicyAuthorizer::add_allowed(const Attributes& attributes, AllowedSubjects& allowed) const {
  std::shared_ptr<const Index> index = documents_.get();
  add_allowed_by(*index, attributes, surroundings_, allowed);
}

}  // namespace cardea::authz::namespace_policy
