#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/data_directory.h"
#include "app/jwt_authentication.h"
#include "app/options.h"
#include "app/ways.h"
#include "authn/authenticator.h"
#include "authn/service_account/tokens.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "net/file_watch.h"
#include "net/loop.h"
#include "net/tls.h"
#include "store/store.h"

namespace cardea::app {

// The parts that authenticators are built from. All of them must outlive the authenticators.
struct AuthenticationParts {
  const ServeOptions& options;
  const DataDirectory& data;
  store::Store& store;
  const Clock& clock;
  Random& random;
  net::Loop& loop;  // the loop on which other servers are called
  const Ways& ways;
  net::FileWatch& files;
  const Log& log;
};

struct Authentication {
  std::shared_ptr<const authn::ServiceAccountTokens> service_account_tokens;
  std::string secret;  // follows from the key of service accounts, which replicas share
  JwtAuthentication jwt;
  std::unique_ptr<authn::AuthenticatorChain> chain;
};

// The authenticators that the options ask for, in Kubernetes' order: front proxy, client
// certificate, static token, service account, JWT, webhook, anonymous.
Result<Authentication> make_authentication(const AuthenticationParts& parts);

// TLS as the options ask for it. Certificates and CAs that were given as files are taken over when
// these change.
Result<std::shared_ptr<net::TlsServer>> make_tls(const ServeOptions& options,
                                                 const DataDirectory& data, net::FileWatch& files,
                                                 const Log& log);

// What extension servers need to know about the authentication of clients.
Result<std::vector<std::pair<std::string, std::string>>> authentication_facts(
    const ServeOptions& options, const DataDirectory& data);

}  // namespace cardea::app
