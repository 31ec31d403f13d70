#include "authn/authentication_reload.h"

#include "base/strings.h"

namespace cardea::authn {

using namespace std::chrono_literals;

AuthenticationReload::AuthenticationReload(Options options, IssuerParts parts, JwtAuthenticators& authenticators, AuthenticationMetrics& metrics)
    : options_(std::move(options)), parts_(std::move(parts)), authenticators_(authenticators), metrics_(metrics), considered_(options_.text) {
  metrics_.config_in_use(options_.text);
  watch_ = std::make_unique<net::FileWatch>(options_.poll);
  watch_->watch({options_.file}, [this] { look(); });
}

AuthenticationReload::~AuthenticationReload() {
  {
    std::lock_guard lock(stop_mutex_);
    stopping_ = true;
  }
  stop_.notify_all();
  watch_.reset();
}

void AuthenticationReload::look() {
  std::lock_guard lock(looking_);
  auto text = net::read_whole_file(options_.file);
  std::string why;
  Outcome outcome = Outcome::kNotYet;
  if (text) outcome = consider(*text, why);
  else why = text.error().message;
  if (outcome == Outcome::kUnchanged) return;
  if (outcome != Outcome::kNotYet) considered_ = *text;
  {
    std::lock_guard stop(stop_mutex_);
    if (stopping_ && outcome == Outcome::kNotYet) return;  // given up, not failed
  }
  const bool taken = outcome == Outcome::kTaken;
  metrics_.reloaded(taken, parts_.clock.now());
  if (taken) metrics_.config_in_use(*text);
  if (parts_.log)
    parts_.log(taken ? cat("reloaded authentication configuration from ", cardea::quoted(options_.file))
                     : cat("failed to reload authentication configuration from file ", cardea::quoted(options_.file), ": ", why));
}

AuthenticationReload::Outcome AuthenticationReload::consider(const std::string& text, std::string& why) {
  if (text == considered_) return Outcome::kUnchanged;
  auto config = load_authentication_config(text);
  if (!config) {
    why = config.error().message;
    return Outcome::kRefused;
  }
  if (auto same = check_anonymous_unchanged(options_.anonymous, config->anonymous); !same) {
    why = same.error().message;
    return Outcome::kRefused;
  }
  const auto before = authenticators_.issuers();
  auto issuers = build_issuers(*config, parts_, before.get());
  if (!issuers) {
    why = issuers.error().message;
    return Outcome::kRefused;
  }
  if (!wait_until_healthy(**issuers)) {
    why = (*issuers)->health();
    (*issuers)->stop();
    return Outcome::kNotYet;
  }
  std::map<std::string, bool> urls;
  for (const auto& issuer : (*issuers)->issuers()) urls[issuer->config().issuer.url] = true;
  authenticators_.swap(std::move(*issuers));
  metrics_.forget_issuers_except(urls);
  return Outcome::kTaken;
}

bool AuthenticationReload::wait_until_healthy(const IssuerSet& issuers) {
  const auto deadline = std::chrono::steady_clock::now() + options_.patience;
  std::unique_lock lock(stop_mutex_);
  while (!issuers.health().empty()) {
    if (stopping_ || std::chrono::steady_clock::now() >= deadline) return false;
    stop_.wait_for(lock, 20ms);
  }
  return !stopping_;
}

}  // namespace cardea::authn
