#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "rest/at_rest/ciphers.h"
#include "rest/at_rest/kms.h"

namespace cardea::rest {

// A provider `kms` of the configuration.
struct KmsSettings {
  std::string name, endpoint;
  std::chrono::milliseconds timeout{3'000};
};

// Kubernetes' EncryptionConfiguration (apiserver.config.k8s.io/v1): which resources are encrypted
// in etcd, and with which keys. The first provider writes; all of them read. A value that none of
// them opens is not shown. Any thread; `open` may wait for a KMS plugin.
class Encryption {
 public:
  using MakeKms = std::function<Result<std::shared_ptr<Kms>>(const KmsSettings&)>;

  // The text of the file, YAML or JSON. `make_kms` is called for each provider `kms`; without it
  // the file is only checked, and such providers open and seal nothing.
  static Result<Encryption> read(std::string_view text, const MakeKms& make_kms = {});

  // `resource` is "secrets" or "widgets.example.com", `etcd_key` where the value lies. A resource
  // that the configuration does not name is not encrypted.
  Result<std::string> seal(std::string_view resource, std::string_view etcd_key,
                           std::string_view value) const;
  Result<std::string> open(std::string_view resource, std::string_view etcd_key,
                           std::string_view value) const;

  // By which key a value in etcd is sealed: a number that differs from those of other keys. 0:
  // none, or one that nobody seals with today.
  static std::int64_t seal_of(std::string_view value);
  // Whether values of this resource are sealed with another key today.
  bool is_stale(std::string_view resource, std::int64_t seal) const;

  // Of the KMS plugins; empty: all are well.
  std::string trouble() const;

 private:
  struct Key {
    std::string prefix;  // "k8s:enc:aescbc:v1:key1:"; empty: identity, which encrypts nothing
    Cipher cipher = Cipher::kAesCbc;
    std::string secret = {};
    bool is_kms = false;
    std::shared_ptr<Kms> kms = {};  // null: nobody asked for it

    Result<std::string> seal(std::string_view etcd_key, std::string_view value) const;
    Result<std::string> open(std::string_view etcd_key, std::string_view sealed) const;
  };
  struct Rule {
    std::vector<std::string> resources;  // also "*.apps", "*." for the core group, and "*.*"
    std::vector<Key> keys;               // in the order of the file
  };

  static Result<Rule> read_rule(const json::Value& rule, std::size_t index,
                                const MakeKms& make_kms);
  static Result<std::vector<Key>> read_keys(const json::Value& provider, const std::string& path,
                                            const MakeKms& make_kms);
  const Rule* rule_of(std::string_view resource) const;

  std::vector<Rule> rules_;
};

}  // namespace cardea::rest
