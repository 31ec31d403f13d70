#include "crypto/digest.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/result.h"

namespace cardea::crypto {
namespace {

std::string digest(std::string_view bytes, const EVP_MD* algorithm) {
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  CARDEA_CHECK(EVP_Digest(bytes.data(), bytes.size(), out, &size, algorithm, nullptr) == 1);
  return {reinterpret_cast<const char*>(out), size};
}

std::string hex(std::string_view bytes, std::string_view digits) {
  std::string out;
  out.reserve(2 * bytes.size());
  for (unsigned char byte : bytes) out += {digits[byte >> 4], digits[byte & 15]};
  return out;
}

}  // namespace

std::string sha1(std::string_view bytes) {
  return digest(bytes, EVP_sha1());
}

std::string sha256(std::string_view bytes) {
  return digest(bytes, EVP_sha256());
}

std::string sha512(std::string_view bytes) {
  return digest(bytes, EVP_sha512());
}

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  CARDEA_CHECK(EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1);
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::add(std::string_view bytes) {
  CARDEA_CHECK(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1);
}

std::string Sha256::finish() {
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  CARDEA_CHECK(EVP_DigestFinal_ex(state_->context, out, &size) == 1);
  return {reinterpret_cast<const char*>(out), size};
}

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  const auto* text = reinterpret_cast<const unsigned char*>(bytes.data());
  CARDEA_CHECK(
      HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), text, bytes.size(), out, &size));
  return {reinterpret_cast<const char*>(out), size};
}

std::string lower_hex(std::string_view bytes) {
  return hex(bytes, "0123456789abcdef");
}

std::string upper_hex(std::string_view bytes) {
  return hex(bytes, "0123456789ABCDEF");
}

std::string sha256_name(std::string_view bytes) {
  if (bytes.empty()) return "";
  return "sha256:" + lower_hex(sha256(bytes));
}

}  // namespace cardea::crypto
