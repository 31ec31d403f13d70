#pragma once
#include <cstdint>
#include <functional>
#include <string_view>

namespace cardea::schema {

// Stands for the text of a path, and grows with it: adding a part costs the size of the part.
// Texts that differ may share a hash; use it where a mix-up changes only what a message names.
class PathHash {
 public:
  PathHash() = default;
  explicit PathHash(std::string_view text) { add(text); }

  void add(std::string_view part) {
    for (char c : part) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * kPrime;
  }
  bool empty() const { return hash_ == kEmpty; }
  std::uint64_t number() const { return hash_; }
  friend bool operator==(PathHash, PathHash) = default;

 private:
  // FNV-1a.
  static constexpr std::uint64_t kEmpty = 0xcbf29ce484222325, kPrime = 0x100000001b3;
  std::uint64_t hash_ = kEmpty;
};

}  // namespace cardea::schema

template <>
struct std::hash<cardea::schema::PathHash> {
  std::size_t operator()(cardea::schema::PathHash path) const noexcept { return path.number(); }
};
