#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/openssl.h"
#include "net/tls.h"

namespace cardea::net {

// The certificates of a server that are for some names alone (SNI). Names that a certificate was
// given for go before names that it carries, and whole names before wildcards, as in
// kube-apiserver. Not for other rooms.
class NamedIdentities {
 public:
  static Result<NamedIdentities> make(const std::vector<NamedCertificate>& named);

  // Lets connections of `ctx` use them. This object must outlive the connections.
  void serve(SSL_CTX* ctx) const;

 private:
  struct Identity {
    std::vector<X509Ptr> chain;
    KeyPtr key;
  };
  const Identity* find(std::string_view server_name) const;
  static int choose(SSL* ssl, void* self);

  std::vector<Identity> identities_;
  std::map<std::string, std::size_t, std::less<>> by_name_;  // lower case
};

}  // namespace cardea::net
