#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "authz/namespace_policy/documents.h"
#include "authz/namespace_policy/restriction.h"
#include "authz/namespace_policy/words.h"
#include "base/trie.h"

namespace cardea::authz::namespace_policy {

// Whether a rule matches a request.
enum class Match : std::uint8_t {
  kNo,
  kYes,
  kReached,    // a deny of names, and a request for all objects of a collection
  kByName,     // a deny of names, and a request without a name yet: its object will have one
  kStripping,  // a deny of labelled objects, and a change of such an object, which might remove the
               // label first
};

// Whether a rule allows all verbs on all objects. Its `*` contains excluded permissions on fields.
bool allows_everything(const Rule& rule);

// A role in the form that decisions use: immutable, shared between the states of the index.
//
// A role that could not be read has a problem and no rules: users that are bound to it are
// denied. A rule that names an unknown resource group, or has an unknown restriction, fails
// closed by itself: its denials hold, and it allows nothing.
class CompiledRole : public Counted {
 public:
  CompiledRole(std::string_view namespace_name, std::string_view name, std::vector<Rule> rules,
               std::string problem, const ResourceGroups& groups);

  static std::uint64_t hash(std::string_view namespace_name, std::string_view name);
  std::uint64_t hash() const { return hash_; }
  const std::string& namespace_name() const { return namespace_name_; }
  const std::string& name() const { return name_; }
  const std::string& problem() const { return problem_; }
  const std::vector<Rule>& rules() const { return rules_; }
  // Kinds of a rule, its resource groups opened.
  const std::vector<std::string>& kinds_of(std::size_t rule) const { return kinds_[rule]; }
  bool has_deny() const { return has_deny_; }
  bool is_broken(std::size_t rule) const { return heads_[rule].is_broken(); }

  // Whether verbs, kinds, groups, names or paths of the rule match. Its restriction is not
  // evaluated.
  Match matches(std::size_t rule, const RequestWords& request) const;
  // Whether a negation of the rule excludes the request: then the rule does not apply, whatever
  // the effects of the request are.
  bool leaves_out(std::size_t rule, const RequestWords& request) const;

  // The compiled form of a restriction in CEL; null for others, and where it does not compile.
  const std::shared_ptr<const cel::Program>& program_of(std::size_t rule) const {
    return programs_[rule];
  }
  const std::vector<FieldPattern>& fields_of(std::size_t rule) const { return fields_[rule]; }
  const std::vector<LabelPattern>& labels_of(std::size_t rule) const { return labels_[rule]; }

 private:
  struct Head {
    std::uint64_t verbs_yes = 0, verbs_no = 0;
    std::uint32_t verbs_end = 0, negated_verbs_end = 0, kinds_end = 0, negated_kinds_end = 0,
                  groups_end = 0, names_end = 0;  // in words_
    std::uint32_t begin = 0;
    bool deny = false, kinds_broken = false, restriction_broken = false;
    bool any_verb = false, no_verb = false, any_kind = false, no_kind = false, any_group = false,
         any_name = false, has_kinds = false;
    bool is_everything = false;  // all verbs on all objects, with nothing taken away
    bool guards_labels = false;  // a deny by labels
    bool is_broken() const { return kinds_broken || restriction_broken; }
  };
  void compile(std::size_t rule, const ResourceGroups& groups);
  std::uint32_t add_words(const std::vector<std::string>& texts, bool negated);
  bool has_verb(const Head& h, const RequestWords& request) const;
  bool leaves_out_verb(const Head& h, const RequestWords& request) const;
  bool leaves_out_kind(const Head& h, const RequestWords& request) const;
  bool names_verb(std::uint32_t from, std::uint32_t to, const RequestWords& request) const;
  bool is_excluded(std::size_t rule, const Attributes& attributes) const;
  bool has_kind(const Head& h, const RequestWords& request, bool of_whole) const;
  // Whether the rule has the verb for a part of a kind that it names.
  bool has_verb_for_part(const Head& h, const RequestWords& request) const;
  bool has_group(const Head& h, const RequestWords& request) const;
  bool has_url(std::size_t rule, const Attributes& attributes) const;

  std::string namespace_name_, name_, problem_;
  std::uint64_t hash_;
  bool has_deny_ = false;
  std::vector<Head> heads_;
  std::vector<std::uint64_t> words_;
  std::vector<std::string> texts_;  // of words_
  std::vector<Rule> rules_;
  std::vector<std::vector<std::string>> kinds_;
  std::vector<std::shared_ptr<const cel::Program>> programs_;
  std::vector<std::vector<FieldPattern>> fields_;
  std::vector<std::vector<LabelPattern>> labels_;
};

}  // namespace cardea::authz::namespace_policy
