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

// Removes the first block from `text`, and everything before it that is not PEM. nullopt if there
// is no block.
std::optional<PemBlock> next_pem_block(std::string_view& text);

// The error of the DER bytes, empty if they can be read.
std::string certificate_request_error(std::string_view der);
std::string certificate_error(std::string_view der);

// The subject of a certificate request.
struct RequestSubject {
  std::string common_name;  // the last one
  std::vector<std::string> organizations;
};
// From `spec.request` of a CertificateSigningRequest: PEM in base64.
Result<RequestSubject> request_subject(std::string_view base64_pem);

}  // namespace cardea::catalog
