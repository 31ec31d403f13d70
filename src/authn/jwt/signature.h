#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

struct evp_pkey_st;  // OpenSSL's EVP_PKEY

namespace cardea::authn {

// The supported signatures (RFC 7518): RSA with PKCS#1 or PSS padding, and ECDSA. Nothing
// symmetric, no `none`, no EdDSA.
enum class Algorithm : std::uint8_t {
  kRs256,
  kRs384,
  kRs512,
  kEs256,
  kEs384,
  kEs512,
  kPs256,
  kPs384,
  kPs512
};
inline constexpr int kAlgorithmCount = 9;

std::string_view algorithm_name(Algorithm algorithm);             // "RS256"
std::optional<Algorithm> algorithm_named(std::string_view name);  // exact spelling

// A public key: RSA of 2048 to 8192 bits, or EC on P-256, P-384 or P-521. A value that shares; from
// any thread.
class PublicKey {
 public:
  // Takes ownership of a key, private or public; refuses unsupported types and sizes.
  static Result<PublicKey> take(evp_pkey_st* key, std::string id = "");

  // Whether `signature` (JOSE form: ECDSA as r and s side by side) was made over `data` with this
  // key. False for every algorithm that does not belong to the key's type or curve: the key's
  // type decides, not the sender.
  bool verify(Algorithm algorithm, std::string_view data, std::string_view signature) const;

  const std::string& id() const { return id_; }
  bool fits(Algorithm algorithm) const;
  // How Kubernetes names service account keys: base64url of SHA-256 of the public key in DER.
  std::string derived_id() const;
  evp_pkey_st* get() const { return key_.get(); }

 protected:
  PublicKey() = default;
  std::shared_ptr<evp_pkey_st> key_;
  std::string id_;
  int elliptic_bits_ = 0;  // 256, 384, 521; 0 for RSA
};

// A key pair that signs the server's own tokens. From any thread.
class SigningKey : public PublicKey {
 public:
  // A PEM private key. The id is the derived one.
  static Result<SigningKey> parse(std::string_view pem);
  static Result<SigningKey> make_rsa(int bits = 2048);
  static Result<SigningKey> make_ec(int bits = 256);  // 256, 384 or 521

  Algorithm algorithm() const;  // what Kubernetes uses with such a key: RS256, or ES by the curve
  Result<std::string> sign(Algorithm algorithm, std::string_view data) const;
  std::string pem() const;  // the private key, PKCS#8

 private:
  explicit SigningKey(PublicKey key) : PublicKey(std::move(key)) {}
};

// Every public key in a PEM text: PUBLIC KEY, RSA PUBLIC KEY, CERTIFICATE, and the public half of
// private keys. Their ids are the derived ones. An error when there is none, or one cannot be read.
Result<std::vector<PublicKey>> parse_public_keys(std::string_view pem);

}  // namespace cardea::authn
