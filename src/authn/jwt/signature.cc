#include "authn/jwt/signature.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include <array>

#include "base/strings.h"
#include "crypto/digest.h"
#include "crypto/freed.h"

namespace cardea::authn {
namespace {

using crypto::BioPtr;
using crypto::DigestPtr;

struct AlgorithmRow {
  std::string_view name;
  const EVP_MD* (*digest)();
  int elliptic_bits;  // 0: RSA
  bool pss;
};
constexpr std::array<AlgorithmRow, kAlgorithmCount> kAlgorithms = {{
    {"RS256", EVP_sha256, 0, false},
    {"RS384", EVP_sha384, 0, false},
    {"RS512", EVP_sha512, 0, false},
    {"ES256", EVP_sha256, 256, false},
    {"ES384", EVP_sha384, 384, false},
    {"ES512", EVP_sha512, 521, false},
    {"PS256", EVP_sha256, 0, true},
    {"PS384", EVP_sha384, 0, true},
    {"PS512", EVP_sha512, 0, true},
}};
const AlgorithmRow& row_of(Algorithm algorithm) {
  return kAlgorithms[static_cast<std::size_t>(algorithm)];
}

const unsigned char* bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytes(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}

int elliptic_bits_of(EVP_PKEY* key) {
  char name[64] = {};
  std::size_t length = 0;
  if (EVP_PKEY_get_group_name(key, name, sizeof name, &length) != 1) return 0;
  const std::string_view group(name, length);
  if (group == "prime256v1" || group == "P-256") return 256;
  if (group == "secp384r1" || group == "P-384") return 384;
  if (group == "secp521r1" || group == "P-521") return 521;
  return 0;
}

bool set_padding(EVP_PKEY_CTX* context, const AlgorithmRow& row) {
  if (row.elliptic_bits) return true;
  if (!row.pss) return EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1;
  // RFC 7518 section 3.5: the salt is as long as the digest.
  return EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) == 1 &&
         EVP_PKEY_CTX_set_rsa_pss_saltlen(context, RSA_PSS_SALTLEN_DIGEST) == 1;
}

// The DER form OpenSSL reads, of r and s side by side: SEQUENCE { INTEGER r, INTEGER s }. At most
// 141 bytes.
class DerSignature {
 public:
  explicit DerSignature(std::string_view jose) {
    const std::size_t half = jose.size() / 2;
    char* const content = text_.data() + 3;  // leaves room for a long length
    char* end = integer(integer(content, jose.substr(0, half)), jose.substr(half));
    const auto length = static_cast<std::size_t>(end - content);
    start_ = length < 128 ? content - 2 : content - 3;
    char* at = start_;
    *at++ = 0x30;
    if (length >= 128) *at++ = static_cast<char>(0x81);
    *at = static_cast<char>(length);
    size_ = static_cast<std::size_t>(end - start_);
  }
  std::string_view text() const { return {start_, size_}; }

 private:
  static char* integer(char* at, std::string_view digits) {
    while (digits.size() > 1 && digits.front() == 0) digits.remove_prefix(1);
    const bool high = static_cast<unsigned char>(digits.front()) >= 128;
    *at++ = 0x02;
    *at++ = static_cast<char>(digits.size() + (high ? 1 : 0));
    if (high) *at++ = 0;
    return std::copy(digits.begin(), digits.end(), at);
  }
  std::array<char, 160> text_{};
  char* start_ = nullptr;
  std::size_t size_ = 0;
};

std::size_t coordinate_bytes(int elliptic_bits) {
  return static_cast<std::size_t>(elliptic_bits + 7) / 8;
}

Error bad_key(std::string_view why) {
  return bad_request(cat("unusable key: ", why));
}

}  // namespace

std::string_view algorithm_name(Algorithm algorithm) {
  return row_of(algorithm).name;
}

std::optional<Algorithm> algorithm_named(std::string_view name) {
  for (std::size_t i = 0; i < kAlgorithms.size(); ++i)
    if (kAlgorithms[i].name == name) return static_cast<Algorithm>(i);
  return std::nullopt;
}

Result<PublicKey> PublicKey::take(evp_pkey_st* raw, std::string id) {
  std::shared_ptr<evp_pkey_st> key(raw, EVP_PKEY_free);
  if (!key) return fail(bad_key("it cannot be read"));
  PublicKey taken;
  if (EVP_PKEY_is_a(key.get(), "RSA")) {
    const int bits = EVP_PKEY_get_bits(key.get());
    if (bits < 2048 || bits > 8192) return fail(bad_key("RSA keys must have 2048 to 8192 bits"));
  } else if (EVP_PKEY_is_a(key.get(), "EC")) {
    taken.elliptic_bits_ = elliptic_bits_of(key.get());
    if (taken.elliptic_bits_ == 0) return fail(bad_key("unsupported elliptic curve"));
  } else {
    return fail(bad_key("only RSA and ECDSA keys are supported"));
  }
  taken.key_ = std::move(key);
  taken.id_ = std::move(id);
  return taken;
}

bool PublicKey::fits(Algorithm algorithm) const {
  return row_of(algorithm).elliptic_bits == elliptic_bits_;
}

bool PublicKey::verify(Algorithm algorithm, std::string_view data,
                       std::string_view signature) const {
  const AlgorithmRow& row = row_of(algorithm);
  if (!fits(algorithm)) return false;
  std::optional<DerSignature> der;
  if (row.elliptic_bits) {
    if (signature.size() != 2 * coordinate_bytes(row.elliptic_bits)) return false;
    signature = der.emplace(signature).text();
  } else if (signature.size() != static_cast<std::size_t>(EVP_PKEY_get_size(key_.get()))) {
    return false;  // OpenSSL takes a PSS signature without its leading zero for the same number
  }
  // One context per thread: making it is most of what a verification allocates.
  thread_local const DigestPtr context(EVP_MD_CTX_new());
  EVP_PKEY_CTX* padding = nullptr;
  bool valid = context &&
               EVP_DigestVerifyInit(context.get(), &padding, row.digest(), nullptr, key_.get()) ==
                   1 &&
               set_padding(padding, row) &&
               EVP_DigestVerify(context.get(), bytes(signature), signature.size(), bytes(data),
                                data.size()) == 1;
  if (context) EVP_MD_CTX_reset(context.get());  // releases the key
  if (!valid) ERR_clear_error();
  return valid;
}

std::string PublicKey::derived_id() const {
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(key_.get(), &der);
  if (size <= 0) return "";
  std::string digest = crypto::sha256(
      {reinterpret_cast<const char*>(der), static_cast<std::size_t>(size)});
  OPENSSL_free(der);
  return base64_url(digest);
}

namespace {

Result<PublicKey> with_derived_id(EVP_PKEY* raw) {
  auto key = PublicKey::take(raw);
  if (!key) return key;
  EVP_PKEY_up_ref(key->get());
  return PublicKey::take(key->get(), key->derived_id());
}

}  // namespace

Result<SigningKey> SigningKey::parse(std::string_view pem) {
  BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  // A password is never asked for on the terminal.
  EVP_PKEY* raw = PEM_read_bio_PrivateKey(
      bio.get(), nullptr, [](char*, int, int, void*) { return 0; }, nullptr);
  ERR_clear_error();
  auto key = with_derived_id(raw);
  if (!key) return fail(std::move(key.error()));
  return SigningKey(std::move(*key));
}

Result<SigningKey> SigningKey::make_rsa(int bits) {
  auto key = with_derived_id(
      EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", static_cast<std::size_t>(bits)));
  if (!key) return fail(std::move(key.error()));
  return SigningKey(std::move(*key));
}

Result<SigningKey> SigningKey::make_ec(int bits) {
  auto key = with_derived_id(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC",
                                               bits == 256   ? "P-256"
                                               : bits == 384 ? "P-384"
                                                             : "P-521"));
  if (!key) return fail(std::move(key.error()));
  return SigningKey(std::move(*key));
}

Algorithm SigningKey::algorithm() const {
  switch (elliptic_bits_) {
    case 256:
      return Algorithm::kEs256;
    case 384:
      return Algorithm::kEs384;
    case 521:
      return Algorithm::kEs512;
    default:
      return Algorithm::kRs256;
  }
}

Result<std::string> SigningKey::sign(Algorithm algorithm, std::string_view data) const {
  const AlgorithmRow& row = row_of(algorithm);
  if (!fits(algorithm))
    return fail(internal_error(cat("a key of another kind cannot sign with `", row.name, "`")));
  DigestPtr context(EVP_MD_CTX_new());
  EVP_PKEY_CTX* padding = nullptr;
  std::size_t size = 0;
  std::string signature;
  bool made = context &&
              EVP_DigestSignInit(context.get(), &padding, row.digest(), nullptr, key_.get()) == 1 &&
              set_padding(padding, row) &&
              EVP_DigestSign(context.get(), nullptr, &size, bytes(data), data.size()) == 1;
  if (made) {
    signature.resize(size);
    made = EVP_DigestSign(context.get(), bytes(signature), &size, bytes(data), data.size()) == 1;
    signature.resize(size);
  }
  if (!made) {
    ERR_clear_error();
    return fail(internal_error("cannot sign"));
  }
  if (!row.elliptic_bits) return signature;

  const unsigned char* at = bytes(std::string_view(signature));
  crypto::EcdsaPtr parts(d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(signature.size())));
  const auto half = static_cast<int>(coordinate_bytes(row.elliptic_bits));
  std::string jose(2 * static_cast<std::size_t>(half), '\0');
  BN_bn2binpad(ECDSA_SIG_get0_r(parts.get()), bytes(jose), half);
  BN_bn2binpad(ECDSA_SIG_get0_s(parts.get()), bytes(jose) + half, half);
  return jose;
}

std::string SigningKey::pem() const {
  BioPtr bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PKCS8PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0, nullptr, nullptr);
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

namespace {

// One PEM block as a key; null when it is none of the kinds that hold one or cannot be read.
EVP_PKEY* key_of_block(std::string_view name, const unsigned char* der, long size) {
  if (name == PEM_STRING_PUBLIC) return d2i_PUBKEY(nullptr, &der, size);
  if (name == PEM_STRING_RSA_PUBLIC) return d2i_PublicKey(EVP_PKEY_RSA, nullptr, &der, size);
  if (name == PEM_STRING_X509) {
    crypto::X509Ptr certificate(d2i_X509(nullptr, &der, size));
    return certificate ? X509_get_pubkey(certificate.get()) : nullptr;
  }
  return d2i_AutoPrivateKey(nullptr, &der, size);
}

bool holds_key(std::string_view name) {
  return name == PEM_STRING_PUBLIC || name == PEM_STRING_RSA_PUBLIC || name == PEM_STRING_X509 ||
         name == PEM_STRING_PKCS8INF || name == PEM_STRING_RSA || name == PEM_STRING_ECPRIVATEKEY;
}

}  // namespace

Result<std::vector<PublicKey>> parse_public_keys(std::string_view pem) {
  BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  std::vector<PublicKey> keys;
  char* name = nullptr;
  char* header = nullptr;
  unsigned char* der = nullptr;
  long size = 0;
  while (PEM_read_bio(bio.get(), &name, &header, &der, &size) == 1) {
    const bool wanted = holds_key(name);
    EVP_PKEY* raw = wanted ? key_of_block(name, der, size) : nullptr;
    OPENSSL_free(name);
    OPENSSL_free(header);
    OPENSSL_clear_free(der, static_cast<std::size_t>(size));
    if (!wanted) continue;  // parameters of a curve, comments
    auto key = with_derived_id(raw);
    ERR_clear_error();
    if (!key) return fail(std::move(key.error()));
    keys.push_back(std::move(*key));
  }
  ERR_clear_error();
  if (keys.empty())
    return fail(bad_request("data does not contain any valid RSA or ECDSA public keys"));
  return keys;
}

}  // namespace cardea::authn
