#include "catalog/kinds/certificates/pem.h"

#include <openssl/err.h>
#include <openssl/x509.h>

#include "base/strings.h"
#include "crypto/freed.h"

namespace cardea::catalog {
namespace {

constexpr std::string_view kBegin = "-----BEGIN ";
constexpr std::string_view kDashes = "-----";

std::string_view take_line(std::string_view& text) {
  auto end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text = end == text.npos ? std::string_view() : text.substr(end + 1);
  return trim(line);
}

}  // namespace

std::optional<PemBlock> next_pem_block(std::string_view& text) {
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (!line.starts_with(kBegin) || !line.ends_with(kDashes) ||
        line.size() < kBegin.size() + kDashes.size())
      continue;
    PemBlock block;
    block.type = line.substr(kBegin.size(), line.size() - kBegin.size() - kDashes.size());
    std::string_view rest = text;
    std::string body;
    std::string end = cat("-----END ", block.type, kDashes);
    bool ended = false;
    while (!rest.empty() && !ended) {
      std::string_view inner = take_line(rest);
      if (inner == end)
        ended = true;
      else if (inner.find(':') != inner.npos)
        block.has_headers = true;
      else
        body += inner;
    }
    if (!ended) continue;
    auto der = base64_decode(body);
    if (!der) continue;
    block.der = std::move(*der);
    text = rest;
    return block;
  }
  return std::nullopt;
}

std::string certificate_request_error(std::string_view der) {
  const auto* at = reinterpret_cast<const unsigned char*>(der.data());
  crypto::X509RequestPtr request(d2i_X509_REQ(nullptr, &at, static_cast<long>(der.size())));
  ERR_clear_error();
  if (request == nullptr) return "asn1: structure error: malformed certificate request";
  EVP_PKEY* key = X509_REQ_get0_pubkey(request.get());
  bool good = key != nullptr;
  ERR_clear_error();
  return good ? "" : "x509: unsupported public key";
}

std::string certificate_error(std::string_view der) {
  const auto* at = reinterpret_cast<const unsigned char*>(der.data());
  crypto::X509Ptr certificate(d2i_X509(nullptr, &at, static_cast<long>(der.size())));
  ERR_clear_error();
  if (certificate == nullptr) return "x509: malformed certificate";
  return "";
}

Result<RequestSubject> request_subject(std::string_view base64_pem) {
  std::optional<std::string> text = base64_decode(base64_pem);
  std::string_view rest = text ? std::string_view(*text) : std::string_view();
  std::optional<PemBlock> block = next_pem_block(rest);
  if (!block || block->type != "CERTIFICATE REQUEST")
    return fail(bad_request("PEM block type must be CERTIFICATE REQUEST"));
  if (std::string error = certificate_request_error(block->der); !error.empty())
    return fail(bad_request(error));
  const auto* at = reinterpret_cast<const unsigned char*>(block->der.data());
  crypto::X509RequestPtr request(d2i_X509_REQ(nullptr, &at, static_cast<long>(block->der.size())));
  const X509_NAME* name = X509_REQ_get_subject_name(request.get());
  RequestSubject subject;
  for (int i = 0; i < X509_NAME_entry_count(name); ++i) {
    const X509_NAME_ENTRY* entry = X509_NAME_get_entry(name, i);
    int kind = OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry));
    if (kind != NID_commonName && kind != NID_organizationName) continue;
    unsigned char* bytes = nullptr;
    int size = ASN1_STRING_to_UTF8(&bytes, X509_NAME_ENTRY_get_data(entry));
    std::string value = size < 0 ? ""
                                 : std::string(reinterpret_cast<char*>(bytes),
                                               static_cast<std::size_t>(size));
    if (size >= 0) OPENSSL_free(bytes);
    if (kind == NID_commonName)
      subject.common_name = std::move(value);
    else
      subject.organizations.push_back(std::move(value));
  }
  ERR_clear_error();
  return subject;
}

}  // namespace cardea::catalog
