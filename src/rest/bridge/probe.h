#pragma once
#include <mutex>
#include <string>
#include <string_view>

#include "base/random.h"

namespace cardea::rest::bridge {

// The requests by which the bridge tries whether the cluster really asks it. Each check has its own
// secret, so that nobody else can answer for the cluster. Any thread.
//
//   admission  a SelfSubjectReview with the secret as an annotation: the webhook has to refuse it
//   questions  the same SelfSubjectAccessReview twice, with the secret as a name: authorization has
//              to ask both times, because an answer that is kept outlives what it stands on. Once
//              with a verb that is allowed, once with one about which there is no opinion
class Probe {
 public:
  static constexpr std::string_view kAnnotation = "bridge.cardea.dev/probe";
  static constexpr std::string_view kGroup = "bridge.cardea.dev";
  static constexpr std::string_view kResource = "probes";
  static constexpr std::string_view kAllowedVerb = "get", kSilentVerb = "list";

  struct Seen {
    int reviews = 0;  // by admission
    int allowed = 0;  // by authorization
    int silent = 0;
  };

  std::string begin(Random& random);  // the secret
  Seen seen() const;

  // Whether it is the probe under way.
  bool is_reviewed(std::string_view secret);
  bool is_asked(std::string_view secret, std::string_view verb);

 private:
  mutable std::mutex mutex_;
  std::string secret_;  // guarded by mutex_, as the next
  Seen seen_;
};

}  // namespace cardea::rest::bridge
