#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "rest/at_rest/ciphers.h"

namespace cardea::rest {

// Kubernetes' EncryptionConfiguration (apiserver.config.k8s.io/v1): which resources are encrypted
// in etcd, and with which keys. The first provider writes; all of them read. A value that none of
// them opens is not shown. Immutable; any thread.
class Encryption {
 public:
  // The text of the file, YAML or JSON. `kms` is refused.
  static Result<Encryption> read(std::string_view text);

  // `resource` is "secrets" or "widgets.example.com", `etcd_key` where the value lies. A resource
  // that the configuration does not name is not encrypted.
  Result<std::string> seal(std::string_view resource, std::string_view etcd_key,
                           std::string_view value) const;
  Result<std::string> open(std::string_view resource, std::string_view etcd_key,
                           std::string_view value) const;

 private:
  struct Key {
    std::string prefix;  // "k8s:enc:aescbc:v1:key1:"; empty: identity, which encrypts nothing
    Cipher cipher = Cipher::kAesCbc;
    std::string secret = {};
  };
  struct Rule {
    std::vector<std::string> resources;  // also "*.apps", "*." for the core group, and "*.*"
    std::vector<Key> keys;               // in the order of the file
  };

  static Result<Rule> read_rule(const json::Value& rule, std::size_t index);
  const Rule* rule_of(std::string_view resource) const;

  std::vector<Rule> rules_;
};

}  // namespace cardea::rest
