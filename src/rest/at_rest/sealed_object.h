#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "rest/at_rest/kms_service.h"

namespace cardea::rest {

// A value as it lies in etcd, encrypted with the help of a KMS plugin: Kubernetes' EncryptedObject
// (apiserver/pkg/storage/value/encrypt/envelope/kmsv2), Protobuf.
struct SealedObject {
  // What the plugin decrypts `key` to.
  enum class KeySource : std::uint8_t {
    kKey = 0,   // the AES-GCM key
    kSeed = 1,  // a seed, from which each value has a key of its own
  };

  std::string data;             // the encrypted value
  KmsService::Encrypted key{};  // encrypted by the plugin
  KeySource source = KeySource::kSeed;
};

std::string encode(const SealedObject& object);
// Errors: no such message, or one that kube-apiserver would not take.
Result<SealedObject> decode_sealed(std::string_view bytes);
// The same check for what a plugin answers.
Result<void> check_key(const KmsService::Encrypted& key);
Result<void> check_key_id(std::string_view key_id);

}  // namespace cardea::rest
