#pragma once
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "authn/jwt/jwt_authenticators.h"
#include "net/file_watch.h"

namespace cardea::authn {

// Loads changes of the configuration file while the server runs.
//
// A file that cannot be read, decoded or validated, or that names new issuers which cannot be
// discovered within `patience`, never replaces the configuration in use. Issuers that are
// reached as before keep their state, and the reload does not wait for them; so one issuer that
// is down does not delay the removal of another. While the reload waits for new issuers, the
// file is still read: other content ends the wait. Content that is invalid is considered once;
// issuers that could not be reached are tried again at every check. The section `anonymous`
// cannot change. The file is watched, and also read every minute, on a separate thread.
class AuthenticationReload {
 public:
  struct Options {
    std::string file;
    std::string text;                          // of the configuration in use
    std::optional<AnonymousConfig> anonymous;  // of the configuration in use
    std::chrono::milliseconds patience{60'000};
    std::chrono::milliseconds poll{60'000};
    std::chrono::milliseconds reread{200};  // of the file, while the reload waits for issuers
  };
  // Everything given by reference outlives this.
  AuthenticationReload(Options options, IssuerParts parts, JwtAuthenticators& authenticators,
                       AuthenticationMetrics& metrics);
  ~AuthenticationReload();  // waits until a running reload has been cancelled

  // Checks the file now, on the calling thread. For tests.
  void look();

 private:
  enum class Outcome { kUnchanged, kTaken, kRefused, kNotYet, kOvertaken };
  enum class Waited { kHealthy, kInVain, kOvertaken };
  Outcome look_once();
  Outcome consider(const std::string& text, std::string& why);
  Waited wait_until_healthy(const IssuerSet& issuers, const IssuerSet* before,
                            const std::string& text);
  void tell(Outcome outcome, const std::string& text, const std::string& why) const;

  const Options options_;
  const IssuerParts parts_;
  JwtAuthenticators& authenticators_;
  AuthenticationMetrics& metrics_;

  std::mutex looking_;      // one look at a time
  std::string considered_;  // guarded by looking_
  mutable std::mutex stop_mutex_;
  std::condition_variable stop_;
  bool stopping_ = false;  // guarded by stop_mutex_
  std::unique_ptr<net::FileWatch> watch_;
};

}  // namespace cardea::authn
