#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "authz/attributes.h"

namespace cardea::schema {
struct Schema;
}

namespace cardea::authz::namespace_policy {

// Words of rules are compared without regard to case, by hash first and then by text. Hashes
// can be continued, so that `pods/log` need not be concatenated.
constexpr std::uint64_t kEmptyWord = 14695981039346656037u;
constexpr std::uint64_t word_hash(std::string_view text, std::uint64_t h = kEmptyWord) {
  for (char c : text)
    h = (h ^ static_cast<unsigned char>(c >= 'A' && c <= 'Z' ? c + 32 : c)) * 1099511628211u;
  return h;
}

// The number of a well-known verb; sets of these verbs are kept as bits. -1: not well-known.
int verb_number(std::string_view verb);
constexpr std::uint64_t verb_bit(int number) {
  return number < 0 ? 0 : std::uint64_t{1} << number;
}
// All of them, in the order of their numbers.
const std::vector<std::string_view>& well_known_verbs();

// Verbs are compared without regard to case, except for their parameters: who may write the
// condition `Ready` may not write `ready`.
bool same_verb(std::string_view a, std::string_view b);
// In the case in which it is stored: lower. Permissions on single fields keep theirs, because
// other authorizers compare it.
std::string stored_verb(std::string_view verb);

// The kinds of resources: rules may say `DeploymentConfig` for `deploymentconfigs`. From any
// thread.
class KindNames {
 public:
  virtual ~KindNames() = default;
  // In lower case; empty: not known. Good until this thread asks again.
  virtual std::string_view kind_of(std::string_view group, std::string_view resource) const = 0;
  // Group and resource of all resources of a kind, in any case.
  virtual std::vector<std::pair<std::string, std::string>> resources_of(
      std::string_view kind) const = 0;
  // The subresources of a resource, in all groups; nullopt: not known.
  virtual std::optional<std::vector<std::string>> parts_of(std::string_view /*resource*/) const {
    return std::nullopt;
  }
  // Whether there is such an API group. True where it is not known.
  virtual bool has_group(std::string_view /*group*/) const { return true; }
  // Whether `has` holds for objects of a resource in any version of any group. True where the
  // resource is not known.
  virtual bool any_version(std::string_view /*resource*/,
                           const std::function<bool(const schema::Schema&)>& /*has*/) const {
    return true;
  }
  // Whether a permission on single fields (`granular:label(x)`) is excluded from all enclosing
  // permissions.
  virtual bool is_excluded(std::string_view /*group*/, std::string_view /*resource*/,
                           std::string_view /*verb*/) const {
    return false;
  }
  // What objects of a resource look like in one version; null: not known.
  virtual std::shared_ptr<const schema::Schema> schema_of(std::string_view /*group*/,
                                                          std::string_view /*version*/,
                                                          std::string_view /*resource*/) const {
    return nullptr;
  }
};

// A request as rules see it. Borrows the attributes.
struct RequestWords {
  RequestWords(const Attributes& attributes, const KindNames* kinds);

  const Attributes& attributes;
  std::string_view kind;                // of the resource, in lower case; empty: not known
  std::uint64_t verb_bits;              // its verb, and the verbs that it counts as
  std::uint64_t verb;                   // of a verb that is not well known; else 0
  std::uint64_t plain, full;            // the resource; with its subresource
  std::uint64_t kind_plain, kind_full;  // the same by kind; of a kind that is not known, those of
                                        // the resource
  std::uint64_t group, name;

  // Whether the resource has another name than `word`, given with its hash.
  bool is_named(std::uint64_t hash, std::string_view word) const;
  // The same, also for parts: `pods` also means `pods/log`.
  bool is_under(std::uint64_t hash, std::string_view word) const;
  // Whether the request asks for a review that is a form of the review `word`. A user who may not
  // ask for all users with a permission in the cluster may not ask for those in one namespace
  // either.
  bool is_form_of(std::string_view word) const;
  // Whether the verb is an excluded permission on single fields.
  bool is_excluded() const;
  // Whether it is a request for a part that the verbs of its object do not mean: what is created
  // there (an eviction, a token), and streams. Rules that name the object need the verb `*` for
  // it, or for a stream the word for it: `exec`, `attach`, `portforward`, `log`, `proxy`.
  bool is_act() const;

 private:
  const KindNames* kinds_;
  mutable std::optional<bool> is_excluded_;  // looked up when first needed
  bool spells(std::string_view word, std::string_view resource, bool with_subresource) const;
};

// The verbs that a request counts as besides its own: patch as update, deletecollection as
// delete, a stream to a pod as `exec`, anything through a proxy as `proxy`, creating an access
// review as `permission-request`.
std::uint64_t verb_bits_of(const Attributes& attributes);

}  // namespace cardea::authz::namespace_policy
