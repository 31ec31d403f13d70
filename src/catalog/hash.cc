#include "catalog/hash.h"

#include <openssl/evp.h>

#include "base/result.h"

namespace cardea::catalog {

namespace {

std::string digest(std::string_view text, const EVP_MD* algorithm) {
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  CARDEA_CHECK(EVP_Digest(text.data(), text.size(), out, &size, algorithm, nullptr) == 1);
  return {reinterpret_cast<const char*>(out), size};
}

}  // namespace

std::string sha512_hex(std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (unsigned char byte : digest(text, EVP_sha512())) {
    out.push_back(kDigits[byte >> 4]);
    out.push_back(kDigits[byte & 15]);
  }
  return out;
}

std::string sha256_bytes(std::string_view text) {
  return digest(text, EVP_sha256());
}

}  // namespace cardea::catalog
