#include "rest/bridge/probe.h"

namespace cardea::rest::bridge {

std::string Probe::begin(Random& random) {
  std::string secret = make_uid(random);
  std::lock_guard lock(mutex_);
  secret_ = secret;
  seen_ = {};
  return secret;
}

Probe::Seen Probe::seen() const {
  std::lock_guard lock(mutex_);
  return seen_;
}

bool Probe::is_reviewed(std::string_view secret) {
  std::lock_guard lock(mutex_);
  if (secret_.empty() || secret != secret_) return false;
  ++seen_.reviews;
  return true;
}

bool Probe::is_asked(std::string_view secret, std::string_view verb) {
  std::lock_guard lock(mutex_);
  if (secret_.empty() || secret != secret_) return false;
  if (verb != kAllowedVerb && verb != kSilentVerb) return false;
  ++(verb == kAllowedVerb ? seen_.allowed : seen_.silent);
  return true;
}

}  // namespace cardea::rest::bridge
