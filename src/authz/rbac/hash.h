#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>

namespace cardea::authz::rbac {

// Hashes of the policy index. Not keyed: an attacker that makes collisions can only write
// bindings of the own namespace, and slows down that namespace alone. Equal hashes are always
// followed by a comparison of the texts.

inline std::uint64_t folded_product(std::uint64_t a, std::uint64_t b) {
  __uint128_t product = static_cast<__uint128_t>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// Up to seven bytes as one number, without a loop: the bytes in the middle count twice. Texts of
// equal size with equal numbers are equal.
inline std::uint64_t last_bytes(const char* at, std::size_t size) {
  if (size >= 4) {
    std::uint32_t first, last;
    std::memcpy(&first, at, 4);
    std::memcpy(&last, at + size - 4, 4);
    return first | static_cast<std::uint64_t>(last) << 32;
  }
  if (size == 0) return 0;
  auto byte = [&](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(at[i])}; };
  return byte(0) | byte(size / 2) << 8 | byte(size - 1) << 16;
}

// Eight bytes at a time; for names of subjects, namespaces and roles.
inline std::uint64_t hash_name(std::string_view text, std::uint64_t seed = 0) {
  constexpr std::uint64_t kFirst = 0xa0761d6478bd642f, kSecond = 0xe7037ed1a0b428db;
  std::uint64_t h = folded_product(seed ^ kFirst, text.size() ^ kSecond);
  const char* at = text.data();
  std::size_t left = text.size();
  for (; left >= 8; at += 8, left -= 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    h = folded_product(h ^ word, kSecond);
  }
  return folded_product(h ^ last_bytes(at, left), kFirst);
}

// Of a subject within a namespace, from the hashes of both.
inline std::uint64_t hash_in(std::uint64_t namespace_hash, std::uint64_t subject_hash) {
  return folded_product(namespace_hash ^ 0x8ebc6af09c88c6e3, subject_hash ^ 0x589965cc75374cc3);
}

// Byte by byte, so that `pods/log` need not be put together to be hashed; for the words of rules.
inline std::uint32_t hash_word(std::string_view text, std::uint32_t h = 2166136261u) {
  for (unsigned char c : text) h = (h ^ c) * 16777619u;
  return h;
}

}  // namespace cardea::authz::rbac
