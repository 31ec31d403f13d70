#include "app/server_identity.h"

#include "app/machine.h"
#include "base/strings.h"
#include "crypto/digest.h"

namespace cardea::app {
namespace {

// RFC 4648, in lower case and without padding.
std::string base32(std::string_view bytes) {
  constexpr char kDigits[] = "abcdefghijklmnopqrstuvwxyz234567";
  std::string out;
  unsigned bits = 0, count = 0;
  for (unsigned char byte : bytes) {
    bits = bits << 8 | byte;
    for (count += 8; count >= 5; count -= 5) out += kDigits[bits >> (count - 5) & 31];
  }
  if (count > 0) out += kDigits[bits << (5 - count) & 31];
  return out;
}

}  // namespace

rest::ServerIdentity own_identity(Random& random, std::string address) {
  const std::string host = host_name();
  std::string name = cat("apiserver-", base32(crypto::sha256(host).substr(0, 16)));
  std::string holder = cat(name, "_", make_uid(random));
  return {std::move(name), std::move(holder), host, std::move(address)};
}

}  // namespace cardea::app
