#include "authz/namespace_policy/role.h"

#include <algorithm>

#include "authz/effects.h"
#include "authz/rbac/hash.h"
#include "authz/rbac/rule.h"
#include "base/strings.h"

namespace cardea::authz::namespace_policy {
namespace {

using Kind = Restriction::Kind;

bool has(const std::vector<std::string>& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

const std::uint64_t kOnWhatIsThere = verb_bit(verb_number("update")) |
                                     verb_bit(verb_number("patch")) |
                                     verb_bit(verb_number("delete")) |
                                     verb_bit(verb_number("deletecollection"));

// Permissions on single fields are parts of writing an object.
const std::uint64_t kWrites = verb_bit(verb_number("create")) | verb_bit(verb_number("update")) |
                              verb_bit(verb_number("patch"));
bool is_for_fields(std::string_view verb) {
  constexpr std::string_view kGate = "granular";
  return equals_ignoring_case(verb.substr(0, kGate.size()), kGate) &&
         (verb.size() == kGate.size() || verb[kGate.size()] == ':');
}

// Verbs that are words for streams, and those streams of pods whose words are no well-known verbs.
const std::uint64_t kExecWord = verb_bit(verb_number("exec")),
                    kProxyWord = verb_bit(verb_number("proxy"));
bool is_stream_of_pods(const Attributes& a) {
  constexpr std::string_view kOpened[] = {"attach", "portforward"};
  if (!equals_ignoring_case(a.resource, "pods") || !a.api_group.empty()) return false;
  if (a.verb == "get" && equals_ignoring_case(a.subresource, "log")) return true;
  return (a.verb == "get" || a.verb == "create") &&
         std::ranges::any_of(
             kOpened, [&](std::string_view s) { return equals_ignoring_case(s, a.subresource); });
}

constexpr std::string_view kChanging[] = {"update", "patch"};
bool is_change(std::string_view verb) {
  return std::ranges::any_of(kChanging,
                             [&](std::string_view v) { return equals_ignoring_case(v, verb); });
}

}  // namespace

bool allows_everything(const Rule& rule) {
  const std::vector<std::string> all{"*"};
  return !rule.deny && rule.verbs == all && rule.resource_kinds == all &&
         (rule.api_groups.empty() || rule.api_groups == all) && rule.resource_names.empty() &&
         rule.restriction.kind == Kind::kNone;
}

std::uint64_t CompiledRole::hash(std::string_view namespace_name, std::string_view name) {
  return rbac::hash_name(name, rbac::hash_name(namespace_name));
}

CompiledRole::CompiledRole(std::string_view namespace_name, std::string_view name,
                           std::vector<Rule> rules, std::string problem,
                           const ResourceGroups& groups)
    : namespace_name_(namespace_name),
      name_(name),
      problem_(std::move(problem)),
      hash_(hash(namespace_name, name)) {
  if (problem_.empty()) rules_ = std::move(rules);
  std::size_t count = rules_.size();
  heads_.resize(count);
  kinds_.resize(count);
  programs_.resize(count);
  fields_.resize(count);
  labels_.resize(count);
  for (std::size_t i = 0; i < count; ++i) compile(i, groups);
}

// The words of one sign; stars and well-known verbs are kept elsewhere.
std::uint32_t CompiledRole::add_words(const std::vector<std::string>& texts, bool negated) {
  for (const std::string& t : texts) {
    if (t.starts_with('-') != negated) continue;
    std::string_view word = std::string_view(t).substr(negated ? 1 : 0);
    words_.push_back(word_hash(word));
    texts_.emplace_back(word);
  }
  return static_cast<std::uint32_t>(words_.size());
}

void CompiledRole::compile(std::size_t index, const ResourceGroups& groups) {
  const Rule& rule = rules_[index];
  Head& h = heads_[index];
  h.deny = rule.deny;
  has_deny_ |= rule.deny;
  h.begin = static_cast<std::uint32_t>(words_.size());
  std::vector<std::string> other_verbs;
  for (const std::string& v : rule.verbs) {
    bool negated = v.starts_with('-');
    std::string_view plain = std::string_view(v).substr(negated ? 1 : 0);
    int number = verb_number(plain);
    if (plain == "*")
      (negated ? h.no_verb : h.any_verb) = true;
    else if (number >= 0)
      (negated ? h.verbs_no : h.verbs_yes) |= verb_bit(number);
    else
      other_verbs.push_back(v);
  }
  h.verbs_end = add_words(other_verbs, false);
  h.negated_verbs_end = add_words(other_verbs, true);

  h.kinds_broken = !groups.expand(rule.resource_kinds, kinds_[index]);
  h.has_kinds = !rule.resource_kinds.empty();
  h.any_kind = has(kinds_[index], "*");
  h.no_kind = has(kinds_[index], "-*");
  h.kinds_end = add_words(kinds_[index], false);
  h.negated_kinds_end = add_words(kinds_[index], true);
  h.any_group = rule.api_groups.empty() || has(rule.api_groups, "*");
  for (const std::string& g : rule.api_groups) {
    words_.push_back(word_hash(g));
    texts_.push_back(g);
  }
  h.groups_end = static_cast<std::uint32_t>(words_.size());
  h.any_name = rule.resource_names.empty();
  for (const std::string& n : rule.resource_names) {
    words_.push_back(word_hash(n));
    texts_.push_back(n);
  }
  h.names_end = static_cast<std::uint32_t>(words_.size());

  h.is_everything = h.any_verb && h.any_kind && h.any_group && h.any_name &&
                    rule.verbs.size() == 1 && kinds_[index].size() == 1 &&
                    rule.restriction.kind == Kind::kNone;

  const Restriction& r = rule.restriction;
  std::string problem;
  h.restriction_broken = r.kind == Kind::kUnknown;
  if (r.kind == Kind::kCel) {
    programs_[index] = compile_expression(r.expression, problem);
    h.restriction_broken |= !programs_[index];
  }
  if (r.kind == Kind::kFieldsMutatable)
    for (const std::string& item : r.items)
      fields_[index].push_back(FieldPattern::parse(item, problem));
  if (r.kind == Kind::kLabelsContain) {
    for (const std::string& item : r.items) labels_[index].push_back(read_label_pattern(item));
    // Those that a label keeps from something must not take the label off.
    h.guards_labels = rule.deny && (h.any_verb || (h.verbs_yes & kOnWhatIsThere) != 0);
  }
  h.restriction_broken |= !problem.empty();
}

bool CompiledRole::names_verb(std::uint32_t from, std::uint32_t to,
                              const RequestWords& request) const {
  if (request.verb == 0) return false;
  for (std::uint32_t i = from; i < to; ++i)
    if (words_[i] == request.verb && same_verb(texts_[i], request.attributes.verb)) return true;
  return false;
}

bool CompiledRole::leaves_out_verb(const Head& h, const RequestWords& request) const {
  if (h.no_verb || (h.verbs_no & request.verb_bits) != 0) return true;
  // `*` without `update` does not include updates field by field.
  if ((h.verbs_no & kWrites) != 0 && request.verb != 0 && is_for_fields(request.attributes.verb))
    return true;
  return names_verb(h.verbs_end, h.negated_verbs_end, request);
}

bool CompiledRole::has_verb(const Head& h, const RequestWords& request) const {
  if (leaves_out_verb(h, request)) return false;
  if ((h.verbs_yes & request.verb_bits) != 0 || names_verb(h.begin, h.verbs_end, request))
    return true;
  // A permission that no enclosing permission includes is not part of `*` either, unless the rule
  // covers everything.
  return h.any_verb && (h.deny || h.is_everything || request.verb == 0 || !request.is_excluded());
}

bool CompiledRole::leaves_out_kind(const Head& h, const RequestWords& request) const {
  if (h.no_kind) return true;
  for (std::uint32_t i = h.kinds_end; i < h.negated_kinds_end; ++i)
    if (request.is_under(words_[i], texts_[i]) || request.is_form_of(texts_[i])) return true;
  return false;
}

bool CompiledRole::has_kind(const Head& h, const RequestWords& request, bool of_whole) const {
  if (!h.has_kinds) return false;
  if (h.kinds_broken && h.deny)
    return true;  // whatever it leaves out may not have been meant to be left out
  if (leaves_out_kind(h, request)) return false;
  if (h.any_kind) return true;
  for (std::uint32_t i = h.negated_verbs_end; i < h.kinds_end; ++i)
    if (of_whole ? request.is_under(words_[i], texts_[i]) : request.is_named(words_[i], texts_[i]))
      return true;
  return false;
}

bool CompiledRole::has_verb_for_part(const Head& h, const RequestWords& request) const {
  if (request.attributes.subresource.empty() || leaves_out_verb(h, request)) return false;
  auto is_named = [&](std::uint32_t from, std::uint32_t to) {
    return std::ranges::any_of(texts_.begin() + from, texts_.begin() + to,
                               [&](const std::string& word) {
                                 return equals_ignoring_case(word, request.attributes.subresource);
                               });
  };
  if (is_named(h.verbs_end, h.negated_verbs_end)) return false;  // `-attach`
  if ((h.any_verb || !request.is_act()) && has_verb(h, request)) return true;
  const std::uint64_t words = request.attributes.api_group.empty() ? kExecWord | kProxyWord
                                                                   : kProxyWord;
  if ((h.verbs_yes & request.verb_bits & words) != 0) return true;
  return is_stream_of_pods(request.attributes) && is_named(h.begin, h.verbs_end);
}

bool CompiledRole::leaves_out(std::size_t rule, const RequestWords& request) const {
  const Head& h = heads_[rule];
  return leaves_out_verb(h, request) || (!h.kinds_broken && leaves_out_kind(h, request));
}

bool CompiledRole::has_group(const Head& h, const RequestWords& request) const {
  if (h.any_group) return true;
  for (std::uint32_t i = h.negated_kinds_end; i < h.groups_end; ++i)
    if (words_[i] == request.group && equals_ignoring_case(texts_[i], request.attributes.api_group))
      return true;
  return false;
}

bool CompiledRole::has_url(std::size_t rule, const Attributes& attributes) const {
  return std::ranges::any_of(rules_[rule].non_resource_urls, [&](const std::string& url) {
    return rbac::url_matches(url, attributes.path);
  });
}

bool CompiledRole::is_excluded(std::size_t rule, const Attributes& attributes) const {
  return std::ranges::all_of(rules_[rule].resource_names, [&](const std::string& name) {
    return selectors_exclude(attributes, name);
  });
}

Match CompiledRole::matches(std::size_t rule, const RequestWords& request) const {
  const Head& h = heads_[rule];
  if (h.is_broken() && !h.deny) return Match::kNo;
  const Attributes& a = request.attributes;
  if (!a.is_resource_request)
    return has_verb(h, request) && has_url(rule, a) ? Match::kYes : Match::kNo;
  bool is_named = h.any_name;
  for (std::uint32_t i = h.groups_end; !is_named && request.name != 0 && i < h.names_end; ++i)
    is_named = words_[i] == request.name && texts_[i] == a.name;
  bool is_nameless = !is_named && a.name.empty();
  // A request without a name reaches what has one.
  if (!is_named && !(h.deny && is_nameless)) return Match::kNo;
  if (!has_group(h, request)) return Match::kNo;
  if ((has_verb(h, request) && has_kind(h, request, false)) ||
      (has_verb_for_part(h, request) && has_kind(h, request, true))) {
    if (is_named) return Match::kYes;
    if (!reaches_all(a)) return Match::kByName;
    return is_excluded(rule, a) ? Match::kNo : Match::kReached;
  }
  if (h.guards_labels && is_change(a.verb) && has_kind(h, request, true)) return Match::kStripping;
  return Match::kNo;
}

}  // namespace cardea::authz::namespace_policy
