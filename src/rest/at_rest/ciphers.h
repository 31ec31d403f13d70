#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cardea::rest {

// How a value is encrypted with a key, byte for byte as kube-apiserver does it. Each sealed value
// has a fresh random beginning. Pure but for that; any thread.
enum class Cipher : std::uint8_t {
  kAesCbc,     // 16 bytes, then blocks with their padding. Nothing tells whether it was changed
  kAesGcm,     // 12 bytes, then the text and its tag, which covers `bound_to` too
  kSecretBox,  // 24 bytes, then tag and text: XSalsa20 and Poly1305
};

// Whether a key may have this size.
bool fits_cipher(Cipher cipher, std::size_t key_bytes);

// nullopt: the machine has no random bytes, or no memory. `key` fits.
std::optional<std::string> seal(Cipher cipher, std::string_view key, std::string_view bound_to,
                                std::string_view text);
// nullopt: it was not sealed so.
std::optional<std::string> unseal(Cipher cipher, std::string_view key, std::string_view bound_to,
                                  std::string_view sealed);

// The same with a key for each value: AES-GCM by a key that comes from `seed`, at least 32 random
// bytes, and 32 random bytes that stand before the rest (HKDF with SHA-256, the second half of it).
std::optional<std::string> seal_with_seed(std::string_view seed, std::string_view bound_to,
                                          std::string_view text);
std::optional<std::string> unseal_with_seed(std::string_view seed, std::string_view bound_to,
                                            std::string_view sealed);

}  // namespace cardea::rest
