#include "authz/node/link_set.h"

#include <bit>
#include <cstring>

namespace cardea::authz::node {
namespace {

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

std::uint32_t LinkSet::count(LinkKey key) const {
  for (const Entry& e : entries_.find(key.low))
    if (e.key == key) return static_cast<std::uint32_t>(e.count);
  return 0;
}

void LinkSet::add(LinkKey key, std::uint32_t times) {
  if (times == 0) return;
  auto is_key = [key](const Entry& e) { return e.key == key; };
  if (Entry* known = entries_.edit(key.low, is_key))
    known->count += times;
  else
    entries_.insert({key, times});
}

void LinkSet::remove(LinkKey key, std::uint32_t times) {
  auto is_key = [key](const Entry& e) { return e.key == key; };
  if (count(key) <= times)
    entries_.erase(key.low, is_key);
  else if (times > 0)
    entries_.edit(key.low, is_key)->count -= times;
}

void LinkSet::for_each(const std::function<void(LinkKey, std::uint32_t)>& visit) const {
  entries_.for_each(
      [&visit](const Entry& e) { visit(e.key, static_cast<std::uint32_t>(e.count)); });
}

}  // namespace cardea::authz::node
