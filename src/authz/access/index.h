#pragma once
#include <array>
#include <functional>
#include <memory>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "authz/access/policy.h"

namespace cardea::authz::access {

using PolicyPtr = std::shared_ptr<const Policy>;

// All access policies at one moment, found by what they reach: subject, resource, namespace and name, each a value or
// any. A decision looks where its own values and "any" lead, for the combinations that exist; it never walks over
// policies that do not reach it.
//
// Copying shares everything; a copy that nobody else sees yet may be changed, at the cost of the change. Afterwards it
// is read from any thread without locks.
class Index {
 public:
  // Changing, for the one who builds the next state. What is removed must be what was added.
  void add(const PolicyPtr& policy) { change(policy, true); }
  void remove(const PolicyPtr& policy) { change(policy, false); }

  using Found = boost::container::small_vector<const Policy*, 16>;
  // The policies that select the request, each once.
  void find(const Attributes& attributes, Found& out) const;

  // Those that concern a user in a namespace or in the cluster, whatever the request; walks over all.
  void for_each_about(const User& user, std::string_view namespace_name, const std::function<void(const Policy&)>& visit) const;

  // Those that select a request of somebody; `attributes.user` does not count. Walks over all.
  void for_each_selecting(const Attributes& attributes, const std::function<void(const Policy&)>& visit) const;

  std::size_t size() const { return size_; }

 private:
  // Which parts of a key are values; the others are "any". The subject is a value or any in a key of its own.
  enum Part : std::uint8_t { kResource = 1, kNamespace = 2, kName = 4 };
  static constexpr std::size_t kForms = 8;

  struct Bucket {
    std::uint64_t key = 0;
    std::vector<PolicyPtr> policies;              // of a whole key
    std::array<std::uint32_t, kForms> forms = {};  // of a subject: how many of each form there are
  };
  // A map in two levels of shards that copies what it changes and shares the rest.
  class Map {
   public:
    const Bucket* find(std::uint64_t key) const;
    Bucket& edit(std::uint64_t key);
    void erase(std::uint64_t key);
    void for_each(const std::function<void(const Bucket&)>& visit) const;

   private:
    static constexpr std::size_t kWidth = 64;
    struct Shard {
      std::vector<Bucket> buckets;  // sorted by key
    };
    struct Page {
      std::array<std::shared_ptr<Shard>, kWidth> shards;
    };
    Shard& own(std::uint64_t key);
    std::array<std::shared_ptr<Page>, kWidth> pages_;
  };

  void change(const PolicyPtr& policy, bool is_there);
  // Each once, in the order of namespaces and names.
  void for_each(const std::function<bool(const Policy&)>& wanted, const std::function<void(const Policy&)>& visit) const;

  Map map_;
  std::size_t size_ = 0;
};

}  // namespace cardea::authz::access
