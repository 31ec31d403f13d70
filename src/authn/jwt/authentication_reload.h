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

// Takes changes of the configuration file over while the server runs.
//
// What cannot be read, decoded or validated, or names new issuers that cannot be discovered within
// `patience`, never replaces what is in use. Issuers that are found as before keep what they had
// and are not waited for, so that one that is down does not hold up the removal of another. While
// new ones are waited for the file is read on: other content ends the waiting. Content that is
// wrong in itself is considered once; issuers that could not be reached are tried again at every
// look. The section `anonymous` cannot change. The file is watched, and read every minute in any
// case, on a thread of its own.
class AuthenticationReload {
 public:
  struct Options {
    std::string file;
    std::string text;                          // of the configuration in use
    std::optional<AnonymousConfig> anonymous;  // of the configuration in use
    std::chrono::milliseconds patience{60'000};
    std::chrono::milliseconds poll{60'000};
    std::chrono::milliseconds reread{200};  // of the file, while issuers are waited for
  };
  // Everything given by reference outlives this.
  AuthenticationReload(Options options, IssuerParts parts, JwtAuthenticators& authenticators,
                       AuthenticationMetrics& metrics);
  ~AuthenticationReload();  // waits until a reload under way has been given up

  // Looks at the file now, on the calling thread. For tests.
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
