#pragma once
#include <array>
#include <boost/container/small_vector.hpp>
#include <functional>
#include <memory>
#include <vector>

#include "authz/access/policy.h"
#include "base/trie.h"

namespace cardea::authz::access {

using PolicyPtr = std::shared_ptr<const Policy>;

// All access policies at one moment, indexed by subject, resource, namespace and name; each
// part is a value or "any". A decision looks up its own values and "any", for the combinations
// that exist, or the few policies of a subject that has no more. It never visits the policies of
// other subjects.
//
// Copying shares everything. A copy that is not shared yet may be changed, at the cost of the
// change. Afterwards it is read from any thread without locks.
class Index {
 public:
  // For building the next state. A removed policy must be equal to the one that was added.
  void add(const PolicyPtr& policy) { change(policy, true); }
  void remove(const PolicyPtr& policy) { change(policy, false); }

  using Found = boost::container::small_vector<const Policy*, 16>;
  // The policies that select the request, each once.
  void find(const Attributes& attributes, Found& out) const;
  // Those of them that deny. With `by_word`, those whose rules name exactly this verb.
  void find_denials(const Attributes& attributes, bool by_word, Found& out) const;

  // The policies for a user in a namespace or in the cluster, for any request; visits all
  // policies. Without a namespace the whole cluster is meant: then the result includes policies
  // of every namespace that deny.
  void for_each_about(const User& user, std::string_view namespace_name,
                      const std::function<void(const Policy&)>& visit) const;

  // The policies that select a request of any user; `attributes.user` is ignored. Visits all
  // policies.
  void for_each_selecting(const Attributes& attributes,
                          const std::function<void(const Policy&)>& visit) const;

  std::size_t size() const { return size_; }
  std::size_t denials() const { return denials_; }

 private:
  template <typename Wanted>
  void look(const Attributes& attributes, Found& out, Wanted wanted) const;

  // Which parts of a key are values; the others are "any". The subject is a value, or "any" in a
  // separate key.
  enum Part : std::uint8_t { kResource = 1, kNamespace = 2, kName = 4 };
  static constexpr std::size_t kForms = 8;

  struct Bucket : Counted {
    std::uint64_t key = 0;
    std::vector<PolicyPtr> policies;  // of a whole key; of a subject: all, while they are few
    std::array<std::uint32_t, kForms> forms = {};  // of a subject: how many of each form there are
    bool is_crowded = false;  // a subject that has had many, found by whole keys until all are gone

    explicit Bucket(std::uint64_t k) : key(k) {}
    Bucket(const Bucket& other)
        : Counted(),
          key(other.key),
          policies(other.policies),
          forms(other.forms),
          is_crowded(other.is_crowded) {}
  };
  struct BucketTraits {
    using Item = Bucket*;
    static constexpr std::uint32_t kLeafMax = 8;
    static std::uint64_t hash(const Bucket* b) { return b->key; }
    static bool less(const Bucket* a, const Bucket* b) { return a->key < b->key; }
    static void retain(const Bucket* b) { b->retain(); }
    static void release(const Bucket* b) {
      if (b->release()) delete b;
    }
  };

  using Buckets = Trie<BucketTraits>;
  static const Bucket* bucket_at(const Buckets& buckets, std::uint64_t key) {
    for (const Bucket* b : buckets.find(key))
      if (b->key == key) return b;
    return nullptr;
  }
  // A bucket that no copy of this index shares, made when there was none.
  static Bucket& edit(Buckets& buckets, std::uint64_t key);
  static void erase(Buckets& buckets, std::uint64_t key);

  static std::uint64_t hash(std::string_view part);
  static std::uint64_t any_subject();
  // "u:NAME" or "g:NAME"; a lookup does not build this text.
  static std::uint64_t subject_key(char kind, std::string_view name);
  static std::uint64_t key_of(std::uint64_t subject, std::uint8_t form, std::uint64_t resource,
                              std::uint64_t space, std::uint64_t name);

  void change(const PolicyPtr& policy, bool is_there);
  static void change_few(Bucket& subject, const PolicyPtr& policy, bool is_there);
  // Each once, in the order of namespaces and names.
  void for_each(const std::function<bool(const Policy&)>& wanted,
                const std::function<void(const Policy&)>& visit) const;

  // Apart, so that no name can be made whose key is that of the other kind.
  Buckets subjects_, buckets_;
  std::size_t size_ = 0, denials_ = 0;
};

}  // namespace cardea::authz::access
