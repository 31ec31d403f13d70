#pragma once
// Owners of what OpenSSL makes: each frees its thing when it goes. Only sources and private
// headers include this, so that OpenSSL's names do not spread.
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/x509.h>

#include <memory>

namespace cardea::crypto {

template <auto Free>
struct Freed {
  template <typename T>
  void operator()(T* thing) const {
    Free(thing);
  }
};

using BioPtr = std::unique_ptr<BIO, Freed<BIO_free>>;
using BuilderPtr = std::unique_ptr<OSSL_PARAM_BLD, Freed<OSSL_PARAM_BLD_free>>;
using DigestPtr = std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>>;
using EcdsaPtr = std::unique_ptr<ECDSA_SIG, Freed<ECDSA_SIG_free>>;
using ExtensionPtr = std::unique_ptr<X509_EXTENSION, Freed<X509_EXTENSION_free>>;
using KeyContextPtr = std::unique_ptr<EVP_PKEY_CTX, Freed<EVP_PKEY_CTX_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using NumberPtr = std::unique_ptr<BIGNUM, Freed<BN_free>>;
using ParamsPtr = std::unique_ptr<OSSL_PARAM, Freed<OSSL_PARAM_free>>;
using StoreContextPtr = std::unique_ptr<X509_STORE_CTX, Freed<X509_STORE_CTX_free>>;
using StorePtr = std::unique_ptr<X509_STORE, Freed<X509_STORE_free>>;
using X509Ptr = std::unique_ptr<X509, Freed<X509_free>>;
using X509RequestPtr = std::unique_ptr<X509_REQ, Freed<X509_REQ_free>>;

}  // namespace cardea::crypto
