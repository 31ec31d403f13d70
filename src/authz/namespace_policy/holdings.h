#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "authz/namespace_policy/alphabet.h"
#include "authz/namespace_policy/index.h"

namespace cardea::authz::namespace_policy {

// What the policies give to one user in one namespace, for the question what the user may give to
// others. Denials count whether or not a restriction holds, permissions only without one. In the
// master namespace only permissions of the master namespace count. Borrows the index and the kinds.
class Holdings {
 public:
  Holdings(const Index& index, const User& author, std::string_view namespace_name,
           const KindNames& kinds);

  // A word of what was asked, with the names that denials read. A create that names nothing is
  // denied by the name that its object brings, and not allowed by it.
  struct Asked {
    const RequestWords& words;
    const RequestWords& named;  // the same where the request has its name, or can have none
  };
  enum class Answer { kDenied, kAllowed, kOpen };
  // With a restriction: permissions under the same restriction count too. Roles that cannot be read
  // deny. Adds the rules that it looks at to `work`.
  Answer answer(const Asked& asked, const Restriction& restriction, std::size_t& work) const;

  // Whether one rule allows everything, and none denies anything.
  bool are_everything() const;

  // Adds everything that these roles mention.
  void add_to(Alphabet& alphabet) const;
  bool is_master() const { return is_master_; }
  // Of a request there.
  std::string_view request_namespace() const {
    return is_master_ ? std::string_view() : namespace_name_;
  }

 private:
  using Roles = std::vector<const CompiledRole*>;
  Answer at_level(const Roles& roles, const Asked& asked, const Restriction& restriction,
                  std::size_t& work) const;

  const KindNames& kinds_;
  std::string_view namespace_name_;
  bool is_master_, is_broken_at_master_ = false, is_broken_locally_ = false;
  Roles master_, local_;
};

}  // namespace cardea::authz::namespace_policy
