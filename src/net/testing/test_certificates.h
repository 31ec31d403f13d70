#pragma once
// Certificates for tests, created when needed. Included by tests only.
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cardea::net::testing {

inline std::string pem_of(auto write) {
  BIO* out = BIO_new(BIO_s_mem());
  write(out);
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(out, &bytes);
  std::string text(bytes, static_cast<std::size_t>(size));
  BIO_free(out);
  return text;
}

// A key with its certificate.
struct Identity {
  std::shared_ptr<EVP_PKEY> key;
  std::shared_ptr<X509> certificate;

  std::string certificate_pem() const {
    return pem_of([this](BIO* out) { PEM_write_bio_X509(out, certificate.get()); });
  }
  std::string key_pem() const {
    return pem_of([this](BIO* out) {
      PEM_write_bio_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    });
  }
};

struct CertificateRequest {
  std::vector<std::pair<std::string, std::string>> subject;  // {"CN", "jane"}, {"O", "dev"}
  bool authority = false;
  std::string alternative_names;  // "IP:127.0.0.1,DNS:localhost"
  long valid_from_seconds = -3600;
  long valid_to_seconds = 3600;
  long serial = 1;
  bool rsa = false;  // the key; otherwise on the curve P-256
};

inline void add_extension(X509* certificate, int nid, const std::string& value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str());
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

// Signed by `issuer`, or self-signed if `issuer` is null.
inline Identity issue(const CertificateRequest& request, const Identity* issuer = nullptr) {
  Identity made;
  made.key.reset(request.rsa ? EVP_RSA_gen(2048) : EVP_EC_gen("P-256"), EVP_PKEY_free);
  made.certificate.reset(X509_new(), X509_free);
  X509* certificate = made.certificate.get();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), request.serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate), request.valid_from_seconds);
  X509_gmtime_adj(X509_getm_notAfter(certificate), request.valid_to_seconds);
  X509_set_pubkey(certificate, made.key.get());
  X509_NAME* name = X509_get_subject_name(certificate);
  for (const auto& [attribute, value] : request.subject)
    X509_NAME_add_entry_by_txt(name, attribute.c_str(), MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(value.data()),
                               static_cast<int>(value.size()), -1, 0);
  X509_set_issuer_name(certificate,
                       issuer ? X509_get_subject_name(issuer->certificate.get()) : name);
  if (request.authority) add_extension(certificate, NID_basic_constraints, "critical,CA:TRUE");
  if (!request.alternative_names.empty())
    add_extension(certificate, NID_subject_alt_name, request.alternative_names);
  X509_sign(certificate, issuer ? issuer->key.get() : made.key.get(), EVP_sha256());
  return made;
}

}  // namespace cardea::net::testing
