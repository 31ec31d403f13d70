#pragma once
#include <memory>
#include <string>
#include <string_view>

namespace cardea::crypto {

// The bytes of a digest: 20, 32 and 64. SHA-1 protects nothing; protocols use it as a checksum.
std::string sha1(std::string_view bytes);
std::string sha256(std::string_view bytes);
std::string sha512(std::string_view bytes);

// SHA-256 of bytes that come one after the other.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void add(std::string_view bytes);
  std::string finish();  // 32 bytes; the last call

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The code by which the holder of `key` recognises `bytes`: HMAC with SHA-256, 32 bytes.
std::string hmac_sha256(std::string_view key, std::string_view bytes);

// Two digits for each byte.
std::string lower_hex(std::string_view bytes);
std::string upper_hex(std::string_view bytes);

// "sha256:<lower-case hex>", as Kubernetes names configurations and servers in metrics; "" of no
// bytes.
std::string sha256_name(std::string_view bytes);

}  // namespace cardea::crypto
