#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cardea::catalog {

// One block of PEM text.
struct PemBlock {
  std::string type;  // "CERTIFICATE REQUEST"
  bool has_headers = false;
  std::string der;
};

// Takes the first block off `text`, passing over what is no PEM before it; nullopt when there is
// none.
std::optional<PemBlock> next_pem_block(std::string_view& text);

// What is wrong with the DER, empty when it can be read.
std::string certificate_request_error(std::string_view der);
std::string certificate_error(std::string_view der);

// Whom a certificate request asks a certificate for.
struct RequestSubject {
  std::string common_name;  // the last one
  std::vector<std::string> organizations;
};
// From `spec.request` of a CertificateSigningRequest: PEM in base64.
Result<RequestSubject> request_subject(std::string_view base64_pem);

}  // namespace cardea::catalog
