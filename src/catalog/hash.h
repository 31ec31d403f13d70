#pragma once
#include <string>
#include <string_view>

namespace cardea::catalog {

std::string sha512_hex(std::string_view text);  // upper case, as Kubernetes prints its document
                                                // hashes
std::string sha256_bytes(std::string_view text);

}  // namespace cardea::catalog
