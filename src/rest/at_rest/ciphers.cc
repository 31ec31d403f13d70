#include "rest/at_rest/ciphers.h"

#include <openssl/rand.h>
#include <sodium.h>

#include "base/result.h"
#include "crypto/digest.h"
#include "crypto/freed.h"

namespace cardea::rest {
namespace {

using CipherPtr = std::unique_ptr<EVP_CIPHER_CTX, crypto::Freed<EVP_CIPHER_CTX_free>>;

constexpr std::size_t kCbcBlock = 16, kGcmNonce = 12, kGcmTag = 16, kSaltBytes = 32;

unsigned char* bytes_of(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}
const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::optional<std::string> random_bytes(std::size_t count) {
  std::string out(count, '\0');
  if (RAND_bytes(bytes_of(out), static_cast<int>(count)) != 1) return std::nullopt;
  return out;
}

const EVP_CIPHER* aes_of(bool is_gcm, std::size_t key_bytes) {
  if (key_bytes == 16) return is_gcm ? EVP_aes_128_gcm() : EVP_aes_128_cbc();
  if (key_bytes == 24) return is_gcm ? EVP_aes_192_gcm() : EVP_aes_192_cbc();
  return is_gcm ? EVP_aes_256_gcm() : EVP_aes_256_cbc();
}

// One run of AES over `from`. `tag` is written when it encrypts, and checked when it decrypts; null
// without one.
std::optional<std::string> aes(bool encrypts, std::string_view key, std::string_view nonce,
                               std::string_view bound_to, std::string_view from, std::string* tag) {
  CipherPtr context(EVP_CIPHER_CTX_new());
  const EVP_CIPHER* cipher = aes_of(tag != nullptr, key.size());
  if (!context || EVP_CipherInit_ex(context.get(), cipher, nullptr, bytes_of(key), bytes_of(nonce),
                                    encrypts ? 1 : 0) != 1)
    return std::nullopt;
  int size = 0;
  if (tag && !bound_to.empty() &&
      EVP_CipherUpdate(context.get(), nullptr, &size, bytes_of(bound_to),
                       static_cast<int>(bound_to.size())) != 1)
    return std::nullopt;
  std::string out(from.size() + kCbcBlock, '\0');
  int written = 0;
  if (EVP_CipherUpdate(context.get(), bytes_of(out), &written, bytes_of(from),
                       static_cast<int>(from.size())) != 1)
    return std::nullopt;
  if (tag && !encrypts &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, kGcmTag, tag->data()) != 1)
    return std::nullopt;
  if (EVP_CipherFinal_ex(context.get(), bytes_of(out) + written, &size) != 1) return std::nullopt;
  out.resize(static_cast<std::size_t>(written + size));
  if (tag && encrypts) {
    tag->resize(kGcmTag);
    if (EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, kGcmTag, tag->data()) != 1)
      return std::nullopt;
  }
  return out;
}

std::optional<std::string> box(std::string_view key, std::string_view nonce,
                               std::string_view text) {
  std::string out(text.size() + crypto_secretbox_MACBYTES, '\0');
  if (crypto_secretbox_easy(bytes_of(out), bytes_of(text), text.size(), bytes_of(nonce),
                            bytes_of(key)) != 0)
    return std::nullopt;
  return out;
}

std::optional<std::string> unbox(std::string_view key, std::string_view nonce,
                                 std::string_view boxed) {
  if (boxed.size() < crypto_secretbox_MACBYTES) return std::nullopt;
  std::string out(boxed.size() - crypto_secretbox_MACBYTES, '\0');
  if (crypto_secretbox_open_easy(bytes_of(out), bytes_of(boxed), boxed.size(), bytes_of(nonce),
                                 bytes_of(key)) != 0)
    return std::nullopt;
  return out;
}

// The first block of HKDF-Expand (RFC 5869): 32 bytes, as many as the key needs.
std::string derived_key(std::string_view seed, std::string_view salt) {
  return crypto::hmac_sha256(seed, std::string(salt) + '\x01');
}

std::size_t nonce_bytes(Cipher cipher) {
  switch (cipher) {
    case Cipher::kAesCbc:
      return kCbcBlock;
    case Cipher::kAesGcm:
      return kGcmNonce;
    case Cipher::kSecretBox:
      return crypto_secretbox_NONCEBYTES;
  }
  return 0;
}

}  // namespace

bool fits_cipher(Cipher cipher, std::size_t key_bytes) {
  if (cipher == Cipher::kSecretBox) return key_bytes == crypto_secretbox_KEYBYTES;
  return key_bytes == 16 || key_bytes == 24 || key_bytes == 32;
}

std::optional<std::string> seal(Cipher cipher, std::string_view key, std::string_view bound_to,
                                std::string_view text) {
  CARDEA_CHECK(fits_cipher(cipher, key.size()));
  auto nonce = random_bytes(nonce_bytes(cipher));
  if (!nonce) return std::nullopt;
  std::string tag;
  auto sealed = cipher == Cipher::kSecretBox ? box(key, *nonce, text)
                : cipher == Cipher::kAesGcm  ? aes(true, key, *nonce, bound_to, text, &tag)
                                             : aes(true, key, *nonce, {}, text, nullptr);
  if (!sealed) return std::nullopt;
  return *nonce + *sealed + tag;
}

std::optional<std::string> unseal(Cipher cipher, std::string_view key, std::string_view bound_to,
                                  std::string_view sealed) {
  CARDEA_CHECK(fits_cipher(cipher, key.size()));
  if (sealed.size() < nonce_bytes(cipher)) return std::nullopt;
  const std::string_view nonce = sealed.substr(0, nonce_bytes(cipher));
  sealed.remove_prefix(nonce.size());
  if (cipher == Cipher::kSecretBox) return unbox(key, nonce, sealed);
  if (cipher == Cipher::kAesCbc) return aes(false, key, nonce, {}, sealed, nullptr);
  if (sealed.size() < kGcmTag) return std::nullopt;
  std::string tag(sealed.substr(sealed.size() - kGcmTag));
  sealed.remove_suffix(kGcmTag);
  return aes(false, key, nonce, bound_to, sealed, &tag);
}

std::optional<std::string> seal_with_seed(std::string_view seed, std::string_view bound_to,
                                          std::string_view text) {
  auto salt = random_bytes(kSaltBytes);
  if (!salt) return std::nullopt;
  auto sealed = seal(Cipher::kAesGcm, derived_key(seed, *salt), bound_to, text);
  if (!sealed) return std::nullopt;
  return *salt + *sealed;
}

std::optional<std::string> unseal_with_seed(std::string_view seed, std::string_view bound_to,
                                            std::string_view sealed) {
  if (sealed.size() < kSaltBytes) return std::nullopt;
  return unseal(Cipher::kAesGcm, derived_key(seed, sealed.substr(0, kSaltBytes)), bound_to,
                sealed.substr(kSaltBytes));
}

}  // namespace cardea::rest
