#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace cardea::catalog {

// One block of PEM text.
struct PemBlock {
  std::string type;  // "CERTIFICATE REQUEST"
  bool has_headers = false;
  std::string der;
};

// Takes the first block off `text`, passing over what is no PEM before it; nullopt when there is none.
std::optional<PemBlock> next_pem_block(std::string_view& text);

// What is wrong with the DER, empty when it can be read.
std::string certificate_request_error(std::string_view der);
std::string certificate_error(std::string_view der);

}  // namespace cardea::catalog
