#pragma once
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cardea::rest {

// What a KMS plugin does: it encrypts the keys with which values are encrypted, by a key that only
// it has. Kubernetes' KMS API, version 2.
//
// Calls block until the answer is there. Any thread. Error: kServiceUnavailable when the plugin
// does not answer now and may do later; any other is its last word.
class KmsService {
 public:
  using Annotations = std::map<std::string, std::string>;

  struct Status {
    std::string version;  // "v2"
    std::string health;   // "ok"
    std::string key_id;   // of the key that encrypts now
  };
  struct Encrypted {
    std::string ciphertext, key_id;
    Annotations annotations;
  };

  virtual ~KmsService() = default;
  virtual Result<Status> status() = 0;
  // `uid` names the call in the logs of both sides.
  virtual Result<Encrypted> encrypt(std::string_view plaintext, std::string_view uid) = 0;
  virtual Result<std::string> decrypt(const Encrypted& encrypted, std::string_view uid) = 0;
};

// The plugin behind `endpoint`, "unix:///run/kms.sock", by gRPC. An error when that is no such URL.
Result<std::unique_ptr<KmsService>> make_kms_client(std::string_view endpoint,
                                                    std::chrono::milliseconds timeout);

}  // namespace cardea::rest
