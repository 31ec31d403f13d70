#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cardea::http {

// Where a request goes.
struct Url {
  bool tls = true;
  std::string host;  // "example.com", "127.0.0.1", "::1" (without brackets)
  std::uint16_t port = 0;
  std::string authority;  // as written: "example.com:8443", for the Host header
  std::string target;     // "/path?query"; "/" when there is none
};

// http or https, no user, no fragment.
Result<Url> parse_url(std::string_view text);

// A part of a header's name, as Go escapes it: what cannot stand there, and `%`, is %XX.
std::string escape_header_key(std::string_view key);

}  // namespace cardea::http
