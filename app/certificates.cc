#include "app/certificates.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <ctime>
#include <future>

#include "base/strings.h"
#include "crypto/freed.h"

namespace cardea::app {
namespace {

using crypto::BioPtr;
using crypto::KeyPtr;
using crypto::X509Ptr;

constexpr long kTenYears = 10L * 365 * 24 * 3600;
constexpr long kMonth = 30L * 24 * 3600;

std::unexpected<Error> openssl_error(std::string_view doing) {
  char text[256];
  ERR_error_string_n(ERR_get_error(), text, sizeof text);
  return fail(internal_error(cat(doing, ": ", text)));
}

std::string text_of(BIO* bio) {
  char* data = nullptr;
  long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string pem(X509* certificate) {
  BioPtr bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), certificate);
  return text_of(bio.get());
}

std::string pem(EVP_PKEY* key) {
  BioPtr bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return text_of(bio.get());
}

void add_name(X509_NAME* name, const char* field, const std::string& value) {
  X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(value.data()),
                             static_cast<int>(value.size()), -1, 0);
}

bool add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  crypto::ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

// An RSA key of 2048 bits. How long the search for its primes takes is a matter of luck, so two
// threads search and the first ends the other.
KeyPtr make_rsa_key() {
  std::atomic<bool> is_found = false;
  auto search = [&is_found] {
    KeyPtr key;
    crypto::KeyContextPtr context(EVP_PKEY_CTX_new_from_name(nullptr, "RSA", nullptr));
    if (!context || EVP_PKEY_keygen_init(context.get()) != 1 ||
        EVP_PKEY_CTX_set_rsa_keygen_bits(context.get(), 2048) != 1)
      return key;
    EVP_PKEY_CTX_set_app_data(context.get(), &is_found);
    EVP_PKEY_CTX_set_cb(context.get(), [](EVP_PKEY_CTX* one) {
      return static_cast<std::atomic<bool>*>(EVP_PKEY_CTX_get_app_data(one))->load() ? 0 : 1;
    });
    EVP_PKEY* made = nullptr;
    if (EVP_PKEY_generate(context.get(), &made) == 1) is_found = true;
    key.reset(made);
    return key;
  };
  auto other = std::async(std::launch::async, search);
  KeyPtr own = search();
  KeyPtr others = other.get();
  if (own || others) ERR_clear_error();  // the one that was ended has left its reason
  return own ? std::move(own) : std::move(others);
}

X509Ptr blank(EVP_PKEY* key, long seconds = kTenYears) {
  X509Ptr certificate(X509_new());
  X509_set_version(certificate.get(), 2);
  std::uint64_t serial = 0;
  RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate.get()), serial >> 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), seconds);
  X509_set_pubkey(certificate.get(), key);
  return certificate;
}

}  // namespace

Result<Identity> make_authority(const std::string& common_name) {
  KeyPtr key(EVP_EC_gen("P-256"));
  if (!key) return openssl_error("making a key");
  X509Ptr certificate = blank(key.get());
  add_name(X509_get_subject_name(certificate.get()), "CN", common_name);
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate.get()));
  bool ok = add_extension(certificate.get(), certificate.get(), NID_basic_constraints,
                          "critical,CA:TRUE") &&
            add_extension(certificate.get(), certificate.get(), NID_key_usage,
                          "critical,digitalSignature,keyCertSign,cRLSign") &&
            add_extension(certificate.get(), certificate.get(), NID_subject_key_identifier, "hash");
  if (!ok || !X509_sign(certificate.get(), key.get(), EVP_sha256()))
    return openssl_error("making a certificate authority");
  return Identity{pem(certificate.get()), pem(key.get())};
}

Result<std::int64_t> end_of(const std::string& certificate) {
  BioPtr bio(BIO_new_mem_buf(certificate.data(), static_cast<int>(certificate.size())));
  X509Ptr x509(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  std::tm parts{};
  if (!x509 || ASN1_TIME_to_tm(X509_get0_notAfter(x509.get()), &parts) != 1)
    return openssl_error("reading a certificate");
  return static_cast<std::int64_t>(::timegm(&parts));
}

bool fits(const std::string& certificate, const CertificateRequest& request) {
  BioPtr bio(BIO_new_mem_buf(certificate.data(), static_cast<int>(certificate.size())));
  X509Ptr x509(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  if (!x509) return false;
  std::time_t soon = std::time(nullptr) + kMonth;
  if (X509_cmp_time(X509_get0_notAfter(x509.get()), &soon) <= 0) return false;
  for (const std::string& name : request.dns_names)
    if (X509_check_host(x509.get(), name.data(), name.size(), 0, nullptr) != 1) return false;
  for (const std::string& address : request.addresses)
    if (X509_check_ip_asc(x509.get(), address.c_str(), 0) != 1) return false;
  return true;
}

Result<Identity> issue(const Identity& authority, const CertificateRequest& request) {
  BioPtr certificate_bio(BIO_new_mem_buf(authority.certificate.data(),
                                         static_cast<int>(authority.certificate.size())));
  BioPtr key_bio(BIO_new_mem_buf(authority.key.data(), static_cast<int>(authority.key.size())));
  X509Ptr issuer(PEM_read_bio_X509(certificate_bio.get(), nullptr, nullptr, nullptr));
  KeyPtr issuer_key(PEM_read_bio_PrivateKey(key_bio.get(), nullptr, nullptr, nullptr));
  if (!issuer || !issuer_key) return openssl_error("reading the certificate authority");

  KeyPtr key(request.for_server || request.is_own ? EVP_EC_gen("P-256") : make_rsa_key().release());
  if (!key) return openssl_error("making a key");
  X509Ptr certificate = blank(key.get(), request.days * 86'400L);
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  for (const std::string& o : request.organizations) add_name(subject, "O", o);
  add_name(subject, "CN", request.common_name);
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer.get()));
  std::vector<std::string> names;
  for (const std::string& n : request.dns_names) names.push_back("DNS:" + n);
  for (const std::string& a : request.addresses) names.push_back("IP:" + a);
  bool ok = add_extension(certificate.get(), issuer.get(), NID_basic_constraints,
                          "critical,CA:FALSE") &&
            add_extension(certificate.get(), issuer.get(), NID_key_usage,
                          "critical,digitalSignature") &&
            add_extension(certificate.get(), issuer.get(), NID_ext_key_usage,
                          request.for_server ? "serverAuth" : "clientAuth") &&
            add_extension(certificate.get(), issuer.get(), NID_authority_key_identifier, "keyid");
  if (ok && !names.empty())
    ok = add_extension(certificate.get(), issuer.get(), NID_subject_alt_name, join(names, ","));
  if (!ok || !X509_sign(certificate.get(), issuer_key.get(), EVP_sha256()))
    return openssl_error("issuing a certificate");
  return Identity{pem(certificate.get()), pem(key.get())};
}

}  // namespace cardea::app
