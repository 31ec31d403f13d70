#include <openssl/asn1.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/obj_mac.h>
#include <openssl/x509_vfy.h>

#include <ctime>

#include "base/strings.h"
#include "crypto/digest.h"
#include "net/openssl.h"

namespace cardea::net {
namespace {

constexpr char kUidAttribute[] = "1.3.6.1.4.1.57683.2";

std::string text_of(const ASN1_STRING* value) {
  unsigned char* utf8 = nullptr;
  const int size = ASN1_STRING_to_UTF8(&utf8, value);
  if (size < 0) return {};
  std::string text(reinterpret_cast<char*>(utf8), static_cast<std::size_t>(size));
  OPENSSL_free(utf8);
  return text;
}

std::chrono::system_clock::time_point time_of(const ASN1_TIME* value) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(value, &parts) != 1) return {};
  return std::chrono::system_clock::from_time_t(::timegm(&parts));
}

std::string decimal(const ASN1_INTEGER* value) {
  crypto::NumberPtr number(ASN1_INTEGER_to_BN(value, nullptr));
  char* digits = number ? BN_bn2dec(number.get()) : nullptr;
  std::string text = digits ? digits : "";
  OPENSSL_free(digits);
  return text;
}

std::string one_line(X509_NAME* name) {
  BioPtr out(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(out.get(), name, 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB);
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(out.get(), &bytes);
  return std::string(bytes, static_cast<std::size_t>(size));
}

void read_subject(X509_NAME* name, PeerCertificate& into) {
  for (int i = 0; i < X509_NAME_entry_count(name); ++i) {
    X509_NAME_ENTRY* entry = X509_NAME_get_entry(name, i);
    const ASN1_OBJECT* attribute = X509_NAME_ENTRY_get_object(entry);
    std::string value = text_of(X509_NAME_ENTRY_get_data(entry));
    const int nid = OBJ_obj2nid(attribute);
    if (nid == NID_commonName) {
      into.common_name = std::move(value);
    } else if (nid == NID_organizationName) {
      into.organizations.push_back(std::move(value));
    } else {
      char oid[64] = "";
      OBJ_obj2txt(oid, sizeof oid, attribute, 1);
      if (std::string_view(oid) == kUidAttribute) into.uid = std::move(value);
    }
  }
  into.subject = one_line(name);
}

std::string der_of(X509* certificate) {
  const int size = i2d_X509(certificate, nullptr);
  if (size <= 0) return {};
  std::string der(static_cast<std::size_t>(size), '\0');
  auto* out = reinterpret_cast<unsigned char*>(der.data());
  i2d_X509(certificate, &out);
  return der;
}

std::shared_ptr<PeerCertificate> read_certificate(X509* certificate, std::string der,
                                                  long verdict) {
  auto peer = std::make_shared<PeerCertificate>();
  read_subject(X509_get_subject_name(certificate), *peer);
  peer->issuer = one_line(X509_get_issuer_name(certificate));
  peer->serial = decimal(X509_get0_serialNumber(certificate));
  peer->sha256 = crypto::lower_hex(crypto::sha256(der));
  peer->der = std::move(der);
  peer->not_before = time_of(X509_get0_notBefore(certificate));
  peer->not_after = time_of(X509_get0_notAfter(certificate));
  peer->verified = verdict == X509_V_OK || verdict == kClientAndFrontProxy;
  peer->is_front_proxy = verdict == kFrontProxyAlone || verdict == kClientAndFrontProxy;
  if (verdict == kFrontProxyAlone)
    peer->error = "not signed by a client CA";
  else if (!peer->verified)
    peer->error = X509_verify_cert_error_string(verdict);
  return peer;
}

EVP_PKEY* tiny_key() {
  static EVP_PKEY* const key = [] {
    constexpr unsigned char kBytes[32] = {};
    return EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, kBytes, sizeof kBytes);
  }();
  return key;
}

// OpenSSL keeps the peer's certificate with its decoded key, 2.5 KiB for P-256, as long as the
// connection. Nothing looks at it again: the handshake is over, tickets are sent, there is no
// renegotiation.
void forget_key(X509* certificate) {
  if (EVP_PKEY* key = tiny_key()) X509_set_pubkey(certificate, key);
}

X509Ptr certificate_of(const std::string& der) {
  auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
  return X509Ptr(d2i_X509(nullptr, &bytes, static_cast<long>(der.size())));
}

std::vector<std::string> intermediates_of(SSL* ssl) {
  std::vector<std::string> out;
  STACK_OF(X509)* chain = SSL_get_peer_cert_chain(ssl);  // of a client: without its own
  for (int i = 0; i < sk_X509_num(chain); ++i) out.push_back(der_of(sk_X509_value(chain, i)));
  return out;
}

}  // namespace

bool vouched_for(X509_STORE* store, X509* certificate, STACK_OF(X509) * untrusted) {
  if (!store) return false;
  crypto::StoreContextPtr context(X509_STORE_CTX_new());
  bool good = context && X509_STORE_CTX_init(context.get(), store, certificate, untrusted) == 1 &&
              X509_STORE_CTX_set_default(context.get(), "ssl_client") == 1 &&
              X509_verify_cert(context.get()) == 1;
  ERR_clear_error();
  return good;
}

CertificateTrust ClientAuthorities::judge(const PeerCertificate& peer) const {
  std::lock_guard lock(mutex_);
  if (std::uint64_t now = version(); judged_version_ != now) {
    judged_.clear();
    judged_version_ = now;
  }
  auto [known, is_new] = judged_.try_emplace(peer.der);
  if (!is_new || !stores_) return known->second;
  X509Ptr certificate = certificate_of(peer.der);
  auto free_stack = [](STACK_OF(X509) * stack) { sk_X509_free(stack); };
  std::unique_ptr<STACK_OF(X509), decltype(free_stack)> untrusted(sk_X509_new_null());
  std::vector<X509Ptr> kept;
  for (const std::string& der : peer.intermediates)
    if (kept.push_back(certificate_of(der)); kept.back())
      sk_X509_push(untrusted.get(), kept.back().get());
  if (certificate)
    known->second = {vouched_for(stores_->clients.get(), certificate.get(), untrusted.get()),
                     vouched_for(stores_->front_proxies.get(), certificate.get(), untrusted.get())};
  return known->second;
}

CertificateTrust PeerCertificate::trust() const {
  if (!verified && !is_front_proxy && !authorities) return {};
  if (std::chrono::system_clock::now() > not_after) return {};
  if (!authorities || authorities->version() == authorities_version)
    return {verified, is_front_proxy};
  return authorities->judge(*this);
}

std::shared_ptr<const PeerCertificate> PeerCertificates::of(SSL* ssl) {
  X509* certificate = SSL_get0_peer_certificate(ssl);
  if (!certificate) return nullptr;
  long verdict = SSL_get_verify_result(ssl);
  // A resumed session carries the verdict of its first handshake; the certificate may have run out
  // since.
  bool good = verdict == X509_V_OK || verdict == kFrontProxyAlone ||
              verdict == kClientAndFrontProxy;
  if (good && X509_cmp_current_time(X509_get0_notAfter(certificate)) <= 0)
    verdict = X509_V_ERR_CERT_HAS_EXPIRED;
  std::string der = der_of(certificate);
  std::string key = cat(verdict, ":", der);

  std::lock_guard lock(mutex_);
  auto& known = known_[std::move(key)];
  auto peer = known.lock();
  if (!peer) {
    auto read = read_certificate(certificate, std::move(der), verdict);
    read->intermediates = intermediates_of(ssl);
    read->authorities = authorities_;
    read->authorities_version = version_;
    peer = std::move(read);
    known = peer;
  }
  if (known_.size() >= sweep_at_) {
    std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
    sweep_at_ = 2 * known_.size() + 64;
  }
  forget_key(certificate);
  ERR_clear_error();
  return peer;
}

}  // namespace cardea::net
