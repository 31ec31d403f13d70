#include "authz/access/policy.h"

#include <algorithm>

#include "authz/access/residuals.h"
#include "authz/effects.h"
#include "authz/rbac/hash.h"
#include "base/names.h"
#include "base/strings.h"
#include "cel/partial/bounds.h"

namespace cardea::authz::access {
namespace {

using json::Value;

// Whether an error inside might show although what `implied_by` found does not hold: the condition
// of a `?:` is evaluated in any case.
bool has_choice(const cel::Node& node) {
  return node.op == cel::Op::kConditional ||
         std::ranges::any_of(node.children(), [](const cel::Node* n) { return has_choice(*n); });
}

void unite(std::vector<std::string>& into, const std::vector<std::string>& more) {
  for (const std::string& text : more)
    if (std::ranges::find(into, text) == into.end()) into.push_back(text);
}

bool has_star(const std::vector<std::string>& list) {
  return std::ranges::find(list, "*") != list.end();
}

std::string hex(std::uint64_t n) {
  std::string out;
  for (int i = 0; i < 16; ++i, n >>= 4) out += "0123456789abcdef"[n & 15];
  return out;
}

std::string condition_id_of(std::string_view namespace_name, std::string_view name,
                            std::string_view more = "") {
  std::string_view domain = namespace_name.empty() ? "clusteraccesspolicy.access.cardea.dev/"
                                                   : "accesspolicy.access.cardea.dev/";
  std::string id = cat(domain, name, more);
  // A name may be longer than the name of a label; its hash keeps two such apart.
  if (label_key_problems(id).empty()) return id;
  return cat(domain, "policy-", hex(rbac::hash_name(name)), more);
}

// Whether a rule would select a request if that had one of its names.
bool lacks_name_only(const rbac::PolicyRule& rule, const Attributes& a) {
  rbac::Mismatch m = rbac::mismatch(rule, a);
  return m.name && !m.verb && !m.api_group && !m.resource && !m.url && !m.kind;
}

bool reaches_a_name(const rbac::PolicyRule& rule, const Attributes& a) {
  return std::ranges::any_of(rule.resource_names,
                             [&](const std::string& name) { return !selectors_exclude(a, name); });
}

}  // namespace

Policy::Policy(std::string_view namespace_name, std::string_view name, const Value& object)
    : namespace_name_(namespace_name),
      name_(name),
      condition_id_(condition_id_of(namespace_name, name)),
      description_(object["spec"]["description"].as_string()) {
  const Value& spec = object["spec"];
  std::string_view effect = spec["effect"].as_string();
  // What has no effect that is known must not allow.
  effect_ = effect == "Allow"       ? Effect::kAllow
            : effect == "NoOpinion" ? Effect::kNoOpinion
                                    : Effect::kDeny;
  read_subjects(spec["subjects"]);
  any_rule_ = spec["rules"].empty();
  rules_ = rbac::read_rules(spec["rules"]);
  names_objects_ = std::ranges::any_of(
      rules_, [](const rbac::PolicyRule& rule) { return !rule.resource_names.empty(); });
  compile(spec);
  find_reach();
}

void Policy::read_subjects(const Value& subjects) {
  any_subject_ = subjects.empty();
  for (const Value& s : subjects.items()) {
    std::string_view kind = s["kind"].as_string(), name = s["name"].as_string();
    if (kind == "ServiceAccount") {
      std::string_view space = s["namespace"].as_string();
      if (space.empty()) space = namespace_name_;
      subjects_.push_back({false, cat("system:serviceaccount:", space, ":", name)});
    } else if (kind == "User" || kind == "Group") {
      subjects_.push_back({kind == "Group", std::string(name)});
    }
  }
}

void Policy::compile(const Value& spec) {
  std::string_view text = spec["expression"].as_string();
  if (text.empty()) return;
  if (text.size() > kLongestExpression) {
    problem_ = cat("expression is too long: ", text.size(), " bytes, at most ", kLongestExpression,
                   " are allowed");
    return;
  }
  auto compiled = cel::compile(text, language().environment);
  if (!compiled) {
    problem_ = compiled.error().text;
    return;
  }
  const cel::Type* type = (*compiled)->type();
  if (type && type->kind != cel::Type::kBool && type->kind != cel::Type::kDyn) {
    problem_ = "the expression must give a bool";
    return;
  }
  program_ = std::move(*compiled);
  needs_object_ = (program_->root().reads & language().unknown_bits) != 0 ||
                  program_->root().has_effects;
  for (const std::string& a : cel::attributes_of(program_->root())) {
    bool is_whole = a == "request" || a.starts_with("request[");
    reads_name_ |= is_whole ||
                   (a.starts_with("request.name") && !a.starts_with("request.namespace"));
    reads_user_ |= is_whole || a.starts_with("request.userInfo") || a.starts_with("authorizer") ||
                   a.starts_with("impersonatedRequest");
  }
  is_fixed_ = needs_object_ && (program_->root().reads & ~language().unknowns.bits()) == 0;
}

void Policy::fix() const {
  cel::Residual rest = cel::reduce(program_, Variables(), language().unknowns, kLimits);
  if (rest.is_value()) return;
  residue_ = std::make_shared<const Residue>(std::move(rest));
  if (!matters(effect_, residue_->residual())) return;
  Conditions::Set set;
  set.conditions.push_back(condition_on(residue_));
  if (Decision alone = conditional_on(std::move(set), Author::kOwnChecked);
      alone.kind == Decision::Kind::kConditional)
    conditions_ = alone.conditions;
}

const std::shared_ptr<const Residue>& Policy::fixed_residue() const {
  if (is_fixed_) std::call_once(residue_made_, [this] { fix(); });
  return residue_;
}

const std::shared_ptr<const Conditions>& Policy::fixed_conditions() const {
  fixed_residue();
  return conditions_;
}

Condition Policy::condition_on(std::shared_ptr<const Condition::Compiled> rest,
                               std::string_view more) const {
  std::string id = more.empty() ? condition_id_ : condition_id_of(namespace_name_, name_, more);
  return {.effect = effect_,
          .id = std::move(id),
          .type = std::string(kCelType),
          .text = "",
          .description = description_,
          .compiled = std::move(rest)};
}

std::optional<std::vector<std::string>> Policy::implied(std::string_view attribute) const {
  if (!program_ || (effect_ != Effect::kAllow && has_choice(program_->root()))) return std::nullopt;
  for (const cel::Implied& one : cel::implied_by(program_->root())) {
    if (one.attribute != attribute) continue;
    std::vector<std::string> out;
    for (const cel::Value& v : one.values)
      if (v.is_string()) out.emplace_back(v.string());
    return out;
  }
  return std::nullopt;
}

void Policy::find_reach() {
  if (!any_subject_) {
    std::vector<std::string> keys;
    for (const Subject& s : subjects_) keys.push_back(cat(s.is_group ? "g:" : "u:", s.name));
    reach_.subjects = std::move(keys);
  } else if (auto users = implied("request.userInfo.username")) {
    for (std::string& u : *users) u = "u:" + u;
    reach_.subjects = std::move(users);
  }
  reach_.resources = implied("request.resource");
  reach_.names = implied("request.name");
  reach_.namespaces = implied("request.namespace");
  if (!namespace_name_.empty()) reach_.namespaces = std::vector<std::string>{namespace_name_};
  if (any_rule_) return;
  std::vector<std::string> resources, names;
  bool any_resource = false, any_name = false;
  for (const rbac::PolicyRule& rule : rules_) {
    if (!rule.non_resource_urls.empty()) {
      any_name = true;
      unite(resources, {""});  // the resource of a request for a path
      continue;
    }
    if (rule.resource_names.empty()) any_name = true;
    unite(names, rule.resource_names);
    for (const std::string& r : rule.resources) {
      std::string plain = r.substr(0, r.find('/'));
      if (plain == "*")
        any_resource = true;
      else
        unite(resources, {plain});
    }
  }
  if (!any_resource && !reach_.resources) reach_.resources = std::move(resources);
  if (!any_name && !reach_.names) reach_.names = std::move(names);
}

std::vector<rbac::PolicyRule> Policy::granted() const {
  std::vector<rbac::PolicyRule> out = rules_;
  if (any_rule_)
    out = {{.verbs = {"*"},
            .api_groups = {"*"},
            .resources = {"*"},
            .resource_names = {},
            .non_resource_urls = {}},
           {.verbs = {"*"},
            .api_groups = {},
            .resources = {},
            .resource_names = {},
            .non_resource_urls = {"*"}}};
  // Paths lie in no namespace.
  if (!namespace_name_.empty())
    std::erase_if(out, [](const rbac::PolicyRule& r) { return !r.non_resource_urls.empty(); });
  auto narrow = [](std::vector<std::string>& list,
                   const std::optional<std::vector<std::string>>& to) {
    if (!to) return true;
    std::vector<std::string> kept;
    for (const std::string& text : *to)
      if (has_star(list) || std::ranges::find(list, text) != list.end()) kept.push_back(text);
    list = std::move(kept);
    return !list.empty();
  };
  auto verbs = implied("request.verb"), groups = implied("request.apiGroup"),
       resources = implied("request.resource");
  auto names = implied("request.name"), subresources = implied("request.subresource"),
       paths = implied("request.path");
  std::erase_if(out, [&](rbac::PolicyRule& rule) {
    if (!narrow(rule.verbs, verbs)) return true;
    if (!rule.non_resource_urls.empty()) {
      // A request for a path has no resource.
      if (resources && std::ranges::find(*resources, "") == resources->end()) return true;
      return any_rule_ && paths && !narrow(rule.non_resource_urls, paths);
    }
    if (!narrow(rule.api_groups, groups)) return true;
    if (resources && has_star(rule.resources)) {
      std::vector<std::string> named;
      for (const std::string& r : *resources) {
        if (r.empty()) continue;
        if (!subresources) {
          named.push_back(r);
          named.push_back(r + "/*");
          continue;
        }
        for (const std::string& s : *subresources) named.push_back(s.empty() ? r : cat(r, "/", s));
      }
      rule.resources = std::move(named);
      if (rule.resources.empty()) return true;
    }
    if (names && rule.resource_names.empty()) rule.resource_names = *names;
    return false;
  });
  return out;
}

bool Policy::concerns(const User& user) const {
  return any_subject_ || std::ranges::any_of(subjects_, [&](const Subject& s) {
           return s.is_group ? user.in_group(s.name) : s.name == user.name;
         });
}

std::string Policy::explain(std::uint64_t) const {
  std::string_view verb = effect_ == Effect::kAllow  ? "allowed by "
                          : effect_ == Effect::kDeny ? "denied by "
                                                     : "left open by ";
  return description_.empty() ? cat(verb, shown_name())
                              : cat(verb, shown_name(), " (", description_, ")");
}

bool Policy::selects(const Attributes& a) const {
  return concerns(a.user) && selects_for_some(a);
}

bool Policy::selects_for_some(const Attributes& a) const {
  if (!namespace_name_.empty() && (!a.is_resource_request || a.namespace_name != namespace_name_))
    return false;
  const bool reaches_names = effect_ == Effect::kDeny && a.is_resource_request && a.name.empty();
  return any_rule_ || std::ranges::any_of(rules_, [&](const rbac::PolicyRule& r) {
           return rbac::rule_allows(r, a) ||
                  (reaches_names && lacks_name_only(r, a) && reaches_a_name(r, a));
         });
}

bool Policy::says_verb(const Attributes& a) const {
  return std::ranges::any_of(rules_, [&](const rbac::PolicyRule& r) {
    return std::ranges::find(r.verbs, a.verb) != r.verbs.end() &&
           (rbac::rule_allows(r, a) || (a.name.empty() && lacks_name_only(r, a)));
  });
}

std::optional<std::vector<std::string>> Policy::denied_names(const Attributes& a) const {
  if (any_rule_ || !names_objects_) return std::nullopt;
  std::vector<std::string> out;
  for (const rbac::PolicyRule& r : rules_) {
    if (rbac::rule_allows(r, a)) return std::nullopt;
    if (lacks_name_only(r, a) && reaches_a_name(r, a)) unite(out, r.resource_names);
  }
  return out;
}

std::string Policy::shown_name() const {
  return namespace_name_.empty() ? cat("ClusterAccessPolicy ", quoted(name_))
                                 : cat("AccessPolicy ", quoted(cat(namespace_name_, "/", name_)));
}

}  // namespace cardea::authz::access
