#include "authz/held_grants.h"

#include <algorithm>
#include <array>

#include "authz/denied_grants.h"
#include "base/strings.h"

namespace cardea::authz {
namespace {

using namespace_policy::Alphabet;
using namespace_policy::kOther;
using namespace_policy::RequestWords;
using rbac::PolicyRule;
using Texts = std::vector<std::string>;

constexpr std::size_t kMostWork = 2'000'000;     // rules that are looked at for one write
constexpr std::size_t kWorkOfAPermission = 100;  // to find out whether it is excluded
constexpr std::string_view kGate = "granular", kFields = "granular:";

bool has(const Texts& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

// Nothing of Kubernetes has such a name, and words of alphabets have.
bool has_control_characters(const PolicyRule& rule) {
  return std::ranges::any_of(std::array{&rule.verbs, &rule.api_groups, &rule.resources,
                                        &rule.resource_names, &rule.non_resource_urls},
                             [](const Texts* list) {
                               return std::ranges::any_of(*list, [](const std::string& word) {
                                 return std::ranges::any_of(
                                     word, [](unsigned char c) { return c < ' ' || c == 0x7f; });
                               });
                             });
}

bool is_about_fields(std::string_view verb) {
  return verb == kGate || verb.starts_with(kFields);
}

Attributes with_verb(Attributes a, std::string_view verb) {
  a.verb = verb;
  return a;
}

Texts resources_for(const Alphabet& alphabet, const std::string& word) {
  if (word == "*") return {alphabet.kinds.begin(), alphabet.kinds.end()};
  if (!word.starts_with("*/")) return {word};
  std::set<std::string> out;
  for (const std::string& kind : alphabet.kinds)
    out.insert(cat(kind.substr(0, kind.find('/')), word.substr(1)));
  return {out.begin(), out.end()};
}

}  // namespace

HeldGrants::HeldGrants(Writer writer, const namespace_policy::Index* policy,
                       const namespace_policy::KindNames* kinds, IsPartOfWriting is_part)
    : writer_(writer), kinds_(kinds), is_part_(std::move(is_part)) {
  // A wildcard of a rule that is given stands for all words that what is held tells apart.
  for (const PolicyRule& rule : writer_.by_rbac) add_words(rule);
  if (policy) add_policy(*policy);
  alphabet_.add_others();
}

void HeldGrants::add_policy(const namespace_policy::Index& policy) {
  const bool is_cluster = writer_.namespace_name.empty();
  by_policy_.emplace(policy, writer_.user,
                     is_cluster ? std::string_view(policy.master()) : writer_.namespace_name,
                     kinds_);
  may_be_denied_somewhere_ = is_cluster && policy.may_deny_somewhere(writer_.user);
  by_policy_->add_to(alphabet_);
}

bool HeldGrants::is_exhausted() const {
  return work_ > kMostWork;
}

bool HeldGrants::holds_all(const std::vector<PolicyRule>& rules) {
  return std::ranges::all_of(rules, [&](const PolicyRule& rule) { return holds(rule); });
}

bool HeldGrants::holds(const PolicyRule& rule) {
  if (has_control_characters(rule) || is_exhausted()) return false;
  // A rule without one of its parts gives nothing; it is not for this to say so.
  return rule.non_resource_urls.empty() ? holds_resources(rule)
                                        : rule.resources.empty() && holds_paths(rule);
}

void HeldGrants::add_words(const PolicyRule& rule) {
  auto add = [](const Texts& from, std::set<std::string>& to) {
    for (const std::string& word : from)
      if (word != "*") to.insert(word);
  };
  add(rule.verbs, alphabet_.verbs);
  add(rule.api_groups, alphabet_.api_groups);
  for (const std::string& r : rule.resources) {
    if (r.starts_with("*/")) alphabet_.kinds.insert(cat(kOther, r.substr(1)));
    if (r != "*" && !r.starts_with("*/")) alphabet_.kinds.insert(r);
  }
  alphabet_.names.insert(rule.resource_names.begin(), rule.resource_names.end());
  for (const std::string& url : rule.non_resource_urls) alphabet_.add_path(url);
}

bool HeldGrants::holds_resources(const PolicyRule& rule) {
  if (rule.verbs.empty() || rule.api_groups.empty() || rule.resources.empty()) return false;
  if (holds_everything()) return true;
  if (has(rule.verbs, "*")) return false;
  const bool is_for_one_name = !rule.resource_names.empty();
  const Texts names = is_for_one_name ? rule.resource_names
                                      : Texts(alphabet_.names.begin(), alphabet_.names.end());
  Attributes a(writer_.user);
  a.is_resource_request = true;
  a.namespace_name = by_policy_ ? by_policy_->request_namespace() : writer_.namespace_name;
  for (const std::string& word : rule.resources)
    for (const std::string& resource : resources_for(alphabet_, word)) {
      const auto slash = std::min(resource.find('/'), resource.size());
      a.resource = std::string_view(resource).substr(0, slash);
      a.subresource = std::string_view(resource).substr(std::min(slash + 1, resource.size()));
      std::vector<std::string_view> groups(rule.api_groups.begin(), rule.api_groups.end());
      if (has(rule.api_groups, "*")) groups = alphabet_.groups_for(a.resource);
      for (std::string_view group : groups)
        for (const std::string& verb : rule.verbs)
          for (const std::string& name : names) {
            a.api_group = group;
            a.verb = verb;
            a.name = name;
            if (!holds_one(a, is_for_one_name) || is_exhausted()) return false;
          }
    }
  return true;
}

bool HeldGrants::holds_paths(const PolicyRule& rule) {
  // Paths lie in no namespace.
  if (rule.verbs.empty() || !writer_.namespace_name.empty()) return false;
  const Texts verbs = has(rule.verbs, "*") ? Texts(alphabet_.verbs.begin(), alphabet_.verbs.end())
                                           : rule.verbs;
  Attributes a(writer_.user);
  for (const std::string& url : rule.non_resource_urls) {
    // A star at the end stands for the paths that what is held tells apart, and for others.
    std::vector<std::string> paths{url};
    if (url.ends_with('*')) {
      const std::string prefix = url.substr(0, url.find_last_not_of('*') + 1);
      paths = {prefix, cat(prefix, kOther)};
      for (const std::string& path : alphabet_.paths)
        if (path.starts_with(prefix)) paths.push_back(path);
    }
    for (const std::string& path : paths)
      for (const std::string& verb : verbs) {
        a.path = path;
        a.verb = verb;
        if (!holds_plainly(a) || is_exhausted()) return false;
      }
  }
  return true;
}

bool HeldGrants::holds_one(const Attributes& a, bool is_for_one_name) {
  // Namespace policy does not give these, unless it gives everything.
  if (replaces_checks(a.verb))
    return rbac_gives(a) && !may_be_denied_somewhere_ && policy_on(a) != Answer::kDenied;
  if (!is_about_fields(a.verb)) return holds_plainly(a);
  // Whoever is denied the whole verb has no use for its parts, and gives away none.
  for (std::string_view whole : {"update", "patch"})
    if (policy_on(with_verb(a, whole)) == Answer::kDenied) return false;
  if (names_new_objects(a.verb) && policy_on(with_verb(a, "create")) == Answer::kDenied)
    return false;
  return holds_plainly(a) ||
         (policy_on(a) != Answer::kDenied && holds_whole_objects(a, is_for_one_name));
}

bool HeldGrants::holds_plainly(const Attributes& a) {
  const Answer answer = policy_on(a);
  if (answer == Answer::kOpen) return rbac_gives(a) && !may_be_denied_somewhere_;
  return answer == Answer::kAllowed;
}

bool HeldGrants::holds_whole_objects(const Attributes& a, bool is_for_one_name) {
  const std::string resource = a.subresource.empty() ? std::string(a.resource)
                                                     : cat(a.resource, "/", a.subresource);
  // Kinds that nobody names may exclude it, now or later.
  if (resource.find(kOther) != std::string::npos ||
      a.api_group.find(kOther) != std::string_view::npos)
    return false;
  work_ += kWorkOfAPermission;
  if (!is_part_(a.api_group, resource, a.verb)) return false;
  if (!holds_plainly(with_verb(a, "update")) || !holds_plainly(with_verb(a, "patch"))) return false;
  // Who may name new objects, but not create them whole, would fill them with this. A permission on
  // no name is about new objects alone.
  Attributes unnamed = a;
  unnamed.name = "";
  bool creates = names_new_objects(a.verb) || (is_for_one_name && a.name.empty());
  for (std::string_view naming : {"granular:identity", "granular:metadata"})
    creates = creates || holds_plainly(with_verb(a, naming)) ||
              holds_plainly(with_verb(unnamed, naming));
  return !creates || holds_plainly(with_verb(a, "create"));
}

HeldGrants::Answer HeldGrants::policy_on(const Attributes& a) {
  ++work_;
  if (!by_policy_) return Answer::kOpen;
  const RequestWords words(a, &kinds_);
  const bool brings_its_name = a.is_resource_request && a.name.empty() &&
                               equals_ignoring_case(a.verb, "create");
  if (!brings_its_name) return by_policy_->answer({words, words}, {}, work_);
  Answer out = Answer::kAllowed;
  for (const std::string& name : alphabet_.names) {
    if (name.empty()) continue;
    Attributes brought = a;
    brought.name = name;
    const RequestWords named(brought, &kinds_);
    const Answer one = by_policy_->answer({words, named}, {}, work_);
    if (one == Answer::kDenied) return one;
    if (one == Answer::kOpen) out = one;
  }
  return out;
}

bool HeldGrants::rbac_gives(const Attributes& a) {
  work_ += writer_.by_rbac.size();
  return std::ranges::any_of(writer_.by_rbac,
                             [&](const PolicyRule& rule) { return rbac::rule_allows(rule, a); });
}

}  // namespace cardea::authz
