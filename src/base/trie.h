#pragma once
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "base/huge_pages.h"

namespace cardea {

// A count of owners inside the object itself. An object with one owner may be changed by that
// owner.
class Counted {
 public:
  void retain() const { owners_.fetch_add(1, std::memory_order_relaxed); }
  bool release() const {
    return owners_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }  // whether it was the last
  bool is_unique() const { return owners_.load(std::memory_order_acquire) == 1; }

 private:
  mutable std::atomic<std::uint32_t> owners_{1};
};

// A persistent hash table: copying shares everything, and changing one copy rebuilds the path to
// what changed, so that a new state of a million entries costs microseconds. Several items may have
// one hash; those come in the order of Traits::less.
//
// Traits: Item, a pointer or another small value that may be copied as bytes; hash(Item);
// less(Item, Item) among items of equal hash; retain(Item), release(Item), which do nothing for
// values; kLeafMax, how many items lie together: many when all are read, few when one is looked for
// in memory that has gone cold.
//
// Reading is safe from any thread while nobody changes this copy. A node that only one table owns
// is changed in place, which makes filling a table cheap.
template <typename Traits>
class Trie {
 public:
  using Item = typename Traits::Item;

  Trie() = default;
  Trie(const Trie& other) : root_(other.root_), size_(other.size_) {
    if (root_) root_->retain();
  }
  Trie(Trie&& other) noexcept
      : root_(std::exchange(other.root_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Trie& operator=(Trie other) noexcept {
    std::swap(root_, other.root_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Trie() { drop(root_); }

  std::size_t size() const { return size_; }

  // Items whose hash looks like this one: compare before use.
  std::span<const Item> find(std::uint64_t hash) const {
    const Leaf* leaf = leaf_of(hash);
    if (!leaf) return {};
    std::uint32_t tag = tag_of(hash), first = leaf->lower_bound(tag), last = first;
    while (last < leaf->count && leaf->tags()[last] == tag) ++last;
    return {leaf->items() + first, last - first};
  }

  // Asks for the memory that `find` will read, as far as it is a small leaf.
  void prefetch(std::uint64_t hash) const {
    const char* leaf = reinterpret_cast<const char*>(leaf_of(hash));
    for (std::size_t line = 0; leaf && line < 4; ++line) __builtin_prefetch(leaf + 64 * line);
  }

  void insert(Item item) {
    Traits::retain(item);
    root_ = inserted(root_, 0, Traits::hash(item), item);
    ++size_;
  }

  // Removes the first item of this hash for which `matches` holds.
  template <typename Matches>
  bool erase(std::uint64_t hash, Matches matches) {
    bool found = false;
    for (Item item : find(hash)) found |= matches(item);
    if (!found) return false;
    root_ = erased(root_, 0, hash, matches);
    --size_;
    return true;
  }

  // The place of such an item, for the owner to put another of the same hash and order there; null:
  // none.
  template <typename Matches>
  Item* edit(std::uint64_t hash, Matches matches) {
    bool found = false;
    for (Item item : find(hash)) found |= matches(item);
    if (!found) return nullptr;
    Node** slot = &root_;
    for (unsigned level = 0; (*slot)->is_branch; ++level) {
      Branch* branch = owned(static_cast<Branch*>(*slot));
      *slot = branch;
      slot = &branch->children[step(hash, level)];
    }
    Leaf* leaf = static_cast<Leaf*>(*slot);
    if (!leaf->is_unique()) {
      Leaf* copy = Leaf::make(leaf->count);
      std::copy_n(leaf->tags(), leaf->count, copy->tags());
      for (std::uint32_t i = 0; i < leaf->count; ++i)
        Traits::retain(copy->items()[i] = leaf->items()[i]);
      drop(leaf);
      *slot = leaf = copy;
    }
    for (std::uint32_t i = leaf->lower_bound(tag_of(hash)); i < leaf->count; ++i)
      if (matches(leaf->items()[i])) return leaf->items() + i;
    return nullptr;
  }

  template <typename Visit>
  void for_each(Visit visit) const {
    walk(root_, visit);
  }

 private:
  static constexpr std::uint32_t kLeafMax = Traits::kLeafMax;
  static constexpr unsigned kBits = 4, kLevels = 8;

  struct alignas(8) Node : Counted {
    bool is_branch;
    std::uint32_t count = 0;  // of a leaf: its items
    explicit Node(bool branch) : is_branch(branch) {}
  };

  struct Branch : Node {
    Node* children[1u << kBits] = {};
    std::uint32_t branches = 0;  // bit i: children[i] is a branch, which so is known without
                                 // looking there
    Branch() : Node(true) {}
    static void* operator new(std::size_t size) { return take_memory(size); }
    static void operator delete(void* block, std::size_t size) { give_memory(block, size); }
    void set(unsigned i, Node* child) {
      children[i] = child;
      const std::uint32_t bit = 1u << i;
      branches = child && child->is_branch ? branches | bit : branches & ~bit;
    }
  };

  // One allocation: the header, the upper halves of the hashes in ascending order, the items.
  struct Leaf : Node {
    Leaf() : Node(false) {}
    static Leaf* make(std::uint32_t count) {
      Leaf* leaf = new (take_memory(bytes(count))) Leaf();
      leaf->count = count;
      return leaf;
    }
    static void free(Leaf* leaf) {
      const std::size_t size = bytes(leaf->count);
      leaf->~Leaf();
      give_memory(leaf, size);
    }
    // A growing leaf passes few sizes, so that others soon take what it leaves behind.
    static std::uint32_t places(std::uint32_t count) {
      const std::uint32_t top = std::bit_ceil(count), lower = top / 4 * 3;
      return count <= lower ? lower : top;
    }
    static std::size_t bytes(std::uint32_t count) {
      return sizeof(Leaf) + tag_bytes(count) + places(count) * sizeof(Item);
    }
    static std::size_t tag_bytes(std::uint32_t count) {
      return (places(count) * sizeof(std::uint32_t) + 7) / 8 * 8;
    }
    std::uint32_t* tags() { return reinterpret_cast<std::uint32_t*>(this + 1); }
    const std::uint32_t* tags() const { return reinterpret_cast<const std::uint32_t*>(this + 1); }
    Item* items() {
      return reinterpret_cast<Item*>(reinterpret_cast<char*>(this + 1) + tag_bytes(this->count));
    }
    const Item* items() const { return const_cast<Leaf*>(this)->items(); }

    // Tags are spread evenly, so the place of one is nearly known.
    std::uint32_t guess(std::uint32_t tag) const {
      return static_cast<std::uint32_t>(static_cast<std::uint64_t>(tag) * this->count >> 32);
    }
    std::uint32_t lower_bound(std::uint32_t tag) const {
      constexpr int kSteps = 24;
      const std::uint32_t* t = tags();
      if constexpr (kLeafMax <= 8) {
        std::uint32_t first = 0;
        while (first < this->count && t[first] < tag) ++first;
        return first;
      }
      std::uint32_t at = guess(tag);
      int steps = 0;
      while (at > 0 && t[at - 1] >= tag && ++steps < kSteps) --at;
      while (at < this->count && t[at] < tag && ++steps < kSteps) ++at;
      bool is_found = (at == 0 || t[at - 1] < tag) && (at == this->count || t[at] >= tag);
      return is_found ? at
                      : static_cast<std::uint32_t>(std::lower_bound(t, t + this->count, tag) - t);
    }
  };
  static_assert(sizeof(Leaf) % 8 == 0 && sizeof(Item) % 8 == 0 && alignof(Item) <= 8);
  static_assert(std::is_trivially_copyable_v<Item>);

  static std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }
  static unsigned step(std::uint64_t hash, unsigned level) {
    return (hash >> (kBits * level)) & ((1u << kBits) - 1);
  }

  const Leaf* leaf_of(std::uint64_t hash) const {
    const Node* node = root_;
    bool is_branch = node && node->is_branch;
    for (unsigned level = 0; is_branch; ++level) {
      const Branch* branch = static_cast<const Branch*>(node);
      const unsigned i = step(hash, level);
      node = branch->children[i];
      is_branch = branch->branches >> i & 1;
    }
    return static_cast<const Leaf*>(node);
  }

  static void drop(Node* node) {
    if (!node || !node->release()) return;
    if (node->is_branch) {
      Branch* branch = static_cast<Branch*>(node);
      for (Node* child : branch->children) drop(child);
      delete branch;
    } else {
      Leaf* leaf = static_cast<Leaf*>(node);
      for (std::uint32_t i = 0; i < leaf->count; ++i) Traits::release(leaf->items()[i]);
      Leaf::free(leaf);
    }
  }

  // The branch itself, or a copy when others own it too. Takes over the caller's share.
  static Branch* owned(Branch* branch) {
    if (branch->is_unique()) return branch;
    Branch* copy = new Branch();
    for (std::size_t i = 0; i < std::size(copy->children); ++i)
      if ((copy->children[i] = branch->children[i])) copy->children[i]->retain();
    copy->branches = branch->branches;
    drop(branch);
    return copy;
  }

  // Those below take over the caller's share of `node` and of `item`, and hand back a node of the
  // caller's own.

  // A leaf with one place more (at `at`, left empty) or one less.
  static Leaf* resized(Leaf* leaf, std::uint32_t at, bool grow) {
    std::uint32_t count = grow ? leaf->count + 1 : leaf->count - 1;
    Leaf* next = Leaf::make(count);
    std::uint32_t from = grow ? at : at + 1, to = grow ? at + 1 : at;
    std::copy_n(leaf->tags(), at, next->tags());
    std::copy(leaf->tags() + from, leaf->tags() + leaf->count, next->tags() + to);
    std::copy_n(leaf->items(), at, next->items());
    std::copy(leaf->items() + from, leaf->items() + leaf->count, next->items() + to);
    if (leaf->is_unique()) {
      if (!grow) Traits::release(leaf->items()[at]);
      Leaf::free(leaf);  // its shares of the items have moved on
    } else {
      for (std::uint32_t i = 0; i < count; ++i)
        if (!grow || i != at) Traits::retain(next->items()[i]);
      drop(leaf);
    }
    return next;
  }

  static Node* inserted(Node* node, unsigned level, std::uint64_t hash, Item item) {
    if (!node) {
      Leaf* leaf = Leaf::make(1);
      leaf->tags()[0] = tag_of(hash);
      leaf->items()[0] = item;
      return leaf;
    }
    if (node->is_branch) {
      Branch* branch = owned(static_cast<Branch*>(node));
      const unsigned i = step(hash, level);
      branch->set(i, inserted(branch->children[i], level + 1, hash, item));
      return branch;
    }
    Leaf* leaf = static_cast<Leaf*>(node);
    std::uint32_t tag = tag_of(hash), at = leaf->lower_bound(tag);
    while (at < leaf->count && leaf->tags()[at] == tag && !Traits::less(item, leaf->items()[at]))
      ++at;
    leaf = resized(leaf, at, true);
    leaf->tags()[at] = tag;
    leaf->items()[at] = item;
    return leaf->count > kLeafMax && level < kLevels && can_split(*leaf) ? split(leaf, level)
                                                                         : leaf;
  }

  // Items of one hash stay together.
  static bool can_split(const Leaf& leaf) { return leaf.tags()[0] != leaf.tags()[leaf.count - 1]; }

  static Node* split(Leaf* leaf, unsigned level) {
    Branch* branch = new Branch();
    for (std::uint32_t i = 0; i < leaf->count; ++i) {
      std::uint64_t hash = Traits::hash(leaf->items()[i]);
      const unsigned at = step(hash, level);
      branch->set(at, inserted(branch->children[at], level + 1, hash, leaf->items()[i]));
    }
    Leaf::free(leaf);
    return branch;
  }

  template <typename Matches>
  static Node* erased(Node* node, unsigned level, std::uint64_t hash, Matches& matches) {
    if (node->is_branch) {
      Branch* branch = owned(static_cast<Branch*>(node));
      const unsigned i = step(hash, level);
      branch->set(i, erased(branch->children[i], level + 1, hash, matches));
      if (std::ranges::any_of(branch->children, [](Node* c) { return c != nullptr; }))
        return branch;
      drop(branch);
      return nullptr;
    }
    Leaf* leaf = static_cast<Leaf*>(node);
    std::uint32_t at = leaf->lower_bound(tag_of(hash));
    while (!matches(leaf->items()[at])) ++at;
    if (leaf->count == 1) {
      drop(leaf);
      return nullptr;
    }
    return resized(leaf, at, false);
  }

  template <typename Visit>
  static void walk(const Node* node, Visit& visit) {
    if (!node) return;
    if (node->is_branch) {
      for (const Node* child : static_cast<const Branch*>(node)->children) walk(child, visit);
      return;
    }
    const Leaf* leaf = static_cast<const Leaf*>(node);
    for (std::uint32_t i = 0; i < leaf->count; ++i) visit(leaf->items()[i]);
  }

  Node* root_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace cardea
