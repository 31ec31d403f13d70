#include "net/named_identities.h"

#include <openssl/x509v3.h>

#include "base/strings.h"

namespace cardea::net {
namespace {

using GeneralNamesPtr = std::unique_ptr<GENERAL_NAMES, crypto::Freed<GENERAL_NAMES_free>>;

// The DNS names of a certificate; its common name when it has none.
std::vector<std::string> names_in(X509* certificate) {
  std::vector<std::string> out;
  GeneralNamesPtr names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_DNS) continue;
    const auto* text = reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName));
    out.emplace_back(text, static_cast<std::size_t>(ASN1_STRING_length(name->d.dNSName)));
  }
  if (!out.empty()) return out;
  char common[256];
  const int size = X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName,
                                             common, sizeof common);
  if (size > 0) out.emplace_back(common, static_cast<std::size_t>(size));
  return out;
}

}  // namespace

Result<NamedIdentities> NamedIdentities::make(const std::vector<NamedCertificate>& named) {
  NamedIdentities out;
  for (const NamedCertificate& one : named) {
    auto chain = certificates_in(one.certificates, "a TLS certificate for names");
    if (!chain) return fail(chain.error());
    auto key = key_in(one.key);
    if (!key) return fail(key.error());
    if (X509_check_private_key((*chain)[0].get(), key->get()) != 1)
      return fail(bad_request(
          cat("a TLS private key does not belong to its certificate: ", openssl_error())));
    out.identities_.push_back({std::move(*chain), std::move(*key)});
  }
  for (bool is_given : {true, false})
    for (std::size_t i = 0; i < named.size(); ++i)
      if (named[i].names.empty() != is_given)
        for (const std::string& name :
             is_given ? named[i].names : names_in(out.identities_[i].chain[0].get()))
          out.by_name_.try_emplace(lower(name), i);
  return out;
}

void NamedIdentities::serve(SSL_CTX* ctx) const {
  if (!identities_.empty()) SSL_CTX_set_cert_cb(ctx, choose, const_cast<NamedIdentities*>(this));
}

const NamedIdentities::Identity* NamedIdentities::find(std::string_view server_name) const {
  std::string name = lower(server_name);
  while (name.ends_with('.')) name.pop_back();
  auto found = by_name_.find(name);
  if (found == by_name_.end())
    if (auto dot = name.find('.'); dot != name.npos) found = by_name_.find("*" + name.substr(dot));
  return found == by_name_.end() ? nullptr : &identities_[found->second];
}

int NamedIdentities::choose(SSL* ssl, void* self) {
  const char* asked = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  if (!asked) return 1;
  const Identity* identity = static_cast<const NamedIdentities*>(self)->find(asked);
  if (!identity) return 1;
  SSL_certs_clear(ssl);  // a key of another type would be preferred to this one, or not
  bool ok = SSL_use_certificate(ssl, identity->chain[0].get()) == 1 &&
            SSL_use_PrivateKey(ssl, identity->key.get()) == 1 && SSL_clear_chain_certs(ssl) == 1;
  for (std::size_t i = 1; ok && i < identity->chain.size(); ++i)
    ok = SSL_add1_chain_cert(ssl, identity->chain[i].get()) == 1;
  return ok ? 1 : 0;
}

}  // namespace cardea::net
