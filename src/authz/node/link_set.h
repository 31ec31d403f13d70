#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

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

  // Ends a series of edits: later edits copy again instead of changing the nodes of this series.
  // Call it before a copy is shared.
  void seal() { ++edition_; }

  void for_each(const std::function<void(LinkKey, std::uint32_t)>& visit) const;

 private:
  struct Node;
  using NodePtr = std::shared_ptr<Node>;
  static void edit(NodePtr& at, int level, LinkKey key, std::int64_t change, std::uint64_t edition);

  NodePtr root_;
  std::uint64_t edition_ = 1;  // INVARIANT: nodes of this edition are reachable from this set alone
};

}  // namespace cardea::authz::node
