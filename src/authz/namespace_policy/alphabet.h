#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "authz/namespace_policy/role.h"
#include "authz/namespace_policy/words.h"

namespace cardea::authz::namespace_policy {

// A word that no rule mentions: it stands for all such words. No name of Kubernetes has such a
// character.
inline constexpr std::string_view kOther = "\x01";
// A permission on single fields that no rule mentions: rules that exclude a write exclude these
// too.
inline constexpr std::string_view kOtherGranular = "granular:\x01";
// The same, and it is excluded from every other permission, on every kind.
inline constexpr std::string_view kOtherExcluded = "granular:\x02";

// Everything that rules mention, and one of each that none mentions: who asks about all of these
// has asked about everything.
struct Alphabet {
  std::set<std::string> verbs, kinds, api_groups, names, paths;         // kinds: `pods/log`
  std::map<std::string, std::set<std::string>, std::less<>> groups_of;  // of a resource: more that
                                                                        // count

  // The words of a role.
  void add(const CompiledRole& role, const KindNames* known);
  // A path of a rule: with a star at its end, the paths that it stands for.
  void add_path(std::string_view url);
  // What nobody mentions. After everything else.
  void add_others();

  // What an API group of this resource may be.
  std::vector<std::string_view> groups_for(std::string_view resource) const;

 private:
  void add_effects();
  void add_side(std::string_view resource, std::string_view group, std::string_view subresources);
  void add_kind(std::string_view word, const KindNames* known);
};

// Kinds for questions with words of an alphabet: a permission on fields of some resource that
// nobody mentions is excluded if it is excluded on any. Remembers its answers; for one thread.
class SymbolKinds : public KindNames {
 public:
  explicit SymbolKinds(const KindNames* known) : known_(known) {}  // may be null; outlives it

  std::string_view kind_of(std::string_view group, std::string_view resource) const override;
  std::vector<std::pair<std::string, std::string>> resources_of(
      std::string_view kind) const override;
  std::optional<std::vector<std::string>> parts_of(std::string_view resource) const override;
  bool is_excluded(std::string_view group, std::string_view resource,
                   std::string_view verb) const override;

 private:
  const KindNames* known_;
  mutable std::map<std::tuple<std::string, std::string, std::string>, bool> excluded_;
};

}  // namespace cardea::authz::namespace_policy
