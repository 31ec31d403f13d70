#pragma once
#include <cstdint>
#include <functional>
#include <string_view>

#include "base/trie.h"

namespace cardea::authz::node {

// The name of one thing in a LinkSet: 128 bits of a keyed hash.
struct LinkKey {
  std::uint64_t low = 0, high = 0;
  friend auto operator<=>(const LinkKey&, const LinkKey&) = default;
};

// Makes LinkKeys with SipHash-2-4 under a random secret of this process. An attacker cannot
// search for two texts with the same key, so equal keys mean equal texts. A value.
class LinkHash {
 public:
  LinkHash(std::uint64_t secret_low, std::uint64_t secret_high)
      : low_(secret_low), high_(secret_high) {}
  LinkKey operator()(std::uint8_t kind, std::string_view a, std::string_view b,
                     std::string_view c) const;

 private:
  std::uint64_t low_, high_;
};

// How often each key was added: a persistent set. A copy costs a pointer and never changes again;
// an edit copies the few nodes on the way to the key, and shares the rest with all copies.
//
// Copies are read from any thread without a lock. Editing belongs to one thread at a time.
class LinkSet {
 public:
  bool contains(LinkKey key) const { return count(key) > 0; }
  std::uint32_t count(LinkKey key) const;

  void add(LinkKey key, std::uint32_t times = 1);
  // Removes a key at most as often as it was added.
  void remove(LinkKey key, std::uint32_t times = 1);

  void for_each(const std::function<void(LinkKey, std::uint32_t)>& visit) const;

 private:
  struct Entry {
    LinkKey key;
    std::uint64_t count;
  };
  struct Traits {
    using Item = Entry;
    static constexpr std::uint32_t kLeafMax = 32;
    static std::uint64_t hash(const Entry& e) { return e.key.low; }
    static bool less(const Entry& a, const Entry& b) { return a.key < b.key; }
    static void retain(const Entry&) {}
    static void release(const Entry&) {}
  };

  Trie<Traits> entries_;  // each key once
};

}  // namespace cardea::authz::node
