#include "authz/node/link_set.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

namespace cardea::authz::node {
namespace {

constexpr int kBits = 5;  // thirty-two ways at each level

// Five bits of the key. Past the 128 bits there is nothing to tell keys apart, and equal keys never
// get there.
unsigned slot_of(LinkKey key, int level) {
  int at = level * kBits;
  if (at >= 64) return key.high >> (at - 64) & 31;
  unsigned bits = key.low >> at & 31;
  if (at + kBits > 64) bits |= key.high << (64 - at) & 31;
  return bits;
}

class SipHash {
 public:
  SipHash(std::uint64_t k0, std::uint64_t k1)
      : v0_(0x736f6d6570736575 ^ k0),
        v1_(0x646f72616e646f6d ^ k1 ^ 0xee),
        v2_(0x6c7967656e657261 ^ k0),
        v3_(0x7465646279746573 ^ k1) {}

  void add(std::string_view text) {
    for (; fill_ > 0 && !text.empty(); text.remove_prefix(1))
      add_byte(static_cast<unsigned char>(text[0]));
    for (; text.size() >= 8; text.remove_prefix(8)) {
      std::uint64_t word;
      std::memcpy(&word, text.data(), 8);
      size_ += 8;
      take(word);
    }
    for (char c : text) add_byte(static_cast<unsigned char>(c));
  }
  void add(std::uint64_t number) {
    for (int i = 0; i < 8; ++i) add_byte(static_cast<unsigned char>(number >> 8 * i));
  }
  LinkKey finish() {
    take(pending_ | static_cast<std::uint64_t>(size_ & 0xff) << 56);
    v2_ ^= 0xee;
    for (int i = 0; i < 4; ++i) round();
    LinkKey key{.low = v0_ ^ v1_ ^ v2_ ^ v3_};
    v1_ ^= 0xdd;
    for (int i = 0; i < 4; ++i) round();
    key.high = v0_ ^ v1_ ^ v2_ ^ v3_;
    return key;
  }

 private:
  void add_byte(unsigned char byte) {
    pending_ |= static_cast<std::uint64_t>(byte) << 8 * fill_;
    ++size_;
    if (++fill_ < 8) return;
    take(pending_);
    pending_ = 0;
    fill_ = 0;
  }
  void take(std::uint64_t word) {
    v3_ ^= word;
    round();
    round();
    v0_ ^= word;
  }
  void round() {
    v0_ += v1_, v1_ = std::rotl(v1_, 13) ^ v0_, v0_ = std::rotl(v0_, 32);
    v2_ += v3_, v3_ = std::rotl(v3_, 16) ^ v2_;
    v0_ += v3_, v3_ = std::rotl(v3_, 21) ^ v0_;
    v2_ += v1_, v1_ = std::rotl(v1_, 17) ^ v2_, v2_ = std::rotl(v2_, 32);
  }

  std::uint64_t v0_, v1_, v2_, v3_;
  std::uint64_t pending_ = 0;
  int fill_ = 0;
  std::size_t size_ = 0;
};

}  // namespace

LinkKey LinkHash::operator()(std::uint8_t kind, std::string_view a, std::string_view b,
                             std::string_view c) const {
  SipHash hash(low_, high_);
  // The sizes first: no two triples spell the same bytes.
  hash.add(std::uint64_t{kind} << 56 | (a.size() & 0xfffffff) << 28 | (b.size() & 0xfffffff));
  hash.add(a);
  hash.add(b);
  hash.add(c);
  return hash.finish();
}

// A slot holds nothing, one entry, or a child with at least two entries below it.
struct LinkSet::Node {
  struct Entry {
    LinkKey key;
    std::uint32_t count;
  };

  std::uint64_t edition = 0;
  std::uint32_t entry_slots = 0, child_slots = 0;
  std::vector<Entry> entries;  // in the order of their slots, as are the children
  std::vector<NodePtr> children;

  static std::size_t index(std::uint32_t slots, unsigned slot) {
    return std::popcount(slots & ((1u << slot) - 1));
  }
};

std::uint32_t LinkSet::count(LinkKey key) const {
  const Node* at = root_.get();
  for (int level = 0; at; ++level) {
    unsigned slot = slot_of(key, level);
    if (at->entry_slots >> slot & 1) {
      const Node::Entry& e = at->entries[Node::index(at->entry_slots, slot)];
      return e.key == key ? e.count : 0;
    }
    if (!(at->child_slots >> slot & 1)) return 0;
    at = at->children[Node::index(at->child_slots, slot)].get();
  }
  return 0;
}

void LinkSet::add(LinkKey key, std::uint32_t times) {
  if (times) edit(root_, 0, key, times, edition_);
}

void LinkSet::remove(LinkKey key, std::uint32_t times) {
  std::uint32_t there = count(key);
  if (std::uint32_t taken = std::min(there, times))
    edit(root_, 0, key, -std::int64_t{taken}, edition_);
}

void LinkSet::edit(NodePtr& at, int level, LinkKey key, std::int64_t change,
                   std::uint64_t edition) {
  if (!at)
    at = std::make_shared<Node>();
  else if (at->edition != edition)
    at = std::make_shared<Node>(*at);
  Node& node = *at;
  node.edition = edition;
  unsigned slot = slot_of(key, level);
  std::uint32_t bit = 1u << slot;
  if (node.entry_slots & bit) {
    std::size_t i = Node::index(node.entry_slots, slot);
    Node::Entry& e = node.entries[i];
    if (e.key == key) {
      e.count = static_cast<std::uint32_t>(e.count + change);
      if (e.count > 0) return;
      node.entries.erase(node.entries.begin() + static_cast<std::ptrdiff_t>(i));
      node.entry_slots &= ~bit;
      return;
    }
    // Two keys want this slot: both move one level down.
    NodePtr child;
    edit(child, level + 1, e.key, e.count, edition);
    edit(child, level + 1, key, change, edition);
    node.entries.erase(node.entries.begin() + static_cast<std::ptrdiff_t>(i));
    node.entry_slots &= ~bit;
    node.children.insert(
        node.children.begin() + static_cast<std::ptrdiff_t>(Node::index(node.child_slots, slot)),
        std::move(child));
    node.child_slots |= bit;
    return;
  }
  if (node.child_slots & bit) {
    std::size_t i = Node::index(node.child_slots, slot);
    NodePtr& child = node.children[i];
    edit(child, level + 1, key, change, edition);
    if (child->children.empty() && child->entries.size() == 1) {
      Node::Entry last = child->entries[0];
      node.children.erase(node.children.begin() + static_cast<std::ptrdiff_t>(i));
      node.child_slots &= ~bit;
      node.entries.insert(
          node.entries.begin() + static_cast<std::ptrdiff_t>(Node::index(node.entry_slots, slot)),
          last);
      node.entry_slots |= bit;
    }
    return;
  }
  node.entries.insert(
      node.entries.begin() + static_cast<std::ptrdiff_t>(Node::index(node.entry_slots, slot)),
      {key, static_cast<std::uint32_t>(change)});
  node.entry_slots |= bit;
}

void LinkSet::for_each(const std::function<void(LinkKey, std::uint32_t)>& visit) const {
  std::vector<const Node*> waiting;
  if (root_) waiting.push_back(root_.get());
  while (!waiting.empty()) {
    const Node* at = waiting.back();
    waiting.pop_back();
    for (const Node::Entry& e : at->entries) visit(e.key, e.count);
    for (const NodePtr& c : at->children) waiting.push_back(c.get());
  }
}

}  // namespace cardea::authz::node
