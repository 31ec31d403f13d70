#include "authn/jwt/authentication_reload.h"

#include "base/strings.h"

namespace cardea::authn {

using namespace std::chrono_literals;

AuthenticationReload::AuthenticationReload(Options options, IssuerParts parts,
                                           JwtAuthenticators& authenticators,
                                           AuthenticationMetrics& metrics)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      authenticators_(authenticators),
      metrics_(metrics),
      considered_(options_.text) {
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
  while (look_once() == Outcome::kOvertaken) {
  }
}

AuthenticationReload::Outcome AuthenticationReload::look_once() {
  auto text = net::read_whole_file(options_.file);
  std::string why;
  Outcome outcome = Outcome::kNotYet;
  if (text)
    outcome = consider(*text, why);
  else
    why = text.error().message;
  if (outcome == Outcome::kTaken || outcome == Outcome::kRefused) considered_ = *text;
  tell(outcome, text.value_or(""), why);
  return outcome;
}

void AuthenticationReload::tell(Outcome outcome, const std::string& text,
                                const std::string& why) const {
  if (outcome == Outcome::kUnchanged) return;
  {
    std::lock_guard stop(stop_mutex_);
    if (stopping_ && outcome == Outcome::kNotYet) return;  // given up, not failed
  }
  const bool taken = outcome == Outcome::kTaken;
  metrics_.reloaded(taken, parts_.clock.now());
  if (taken) metrics_.config_in_use(text);
  if (parts_.log)
    parts_.log(
        taken ? cat("reloaded authentication configuration from ", cardea::quoted(options_.file))
              : cat("failed to reload authentication configuration from file ",
                    cardea::quoted(options_.file), ": ", why));
}

AuthenticationReload::Outcome AuthenticationReload::consider(const std::string& text,
                                                             std::string& why) {
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
  if (Waited waited = wait_until_healthy(**issuers, before.get(), text);
      waited != Waited::kHealthy) {
    why = waited == Waited::kOvertaken ? "the file changed while its issuers were waited for"
                                       : (*issuers)->health(before.get());
    (*issuers)->stop(before.get());
    return waited == Waited::kOvertaken ? Outcome::kOvertaken : Outcome::kNotYet;
  }
  std::map<std::string, bool> urls;
  for (const auto& issuer : (*issuers)->issuers()) urls[issuer->config().issuer.url] = true;
  authenticators_.swap(std::move(*issuers));
  metrics_.forget_issuers_except(urls);
  return Outcome::kTaken;
}

AuthenticationReload::Waited AuthenticationReload::wait_until_healthy(const IssuerSet& issuers,
                                                                      const IssuerSet* before,
                                                                      const std::string& text) {
  using Steady = std::chrono::steady_clock;
  const auto deadline = Steady::now() + options_.patience;
  auto next_read = Steady::now() + options_.reread;
  std::string last = text;
  std::unique_lock lock(stop_mutex_);
  while (!issuers.health(before).empty()) {
    if (stopping_ || Steady::now() >= deadline) return Waited::kInVain;
    stop_.wait_for(lock, 20ms);
    if (Steady::now() < next_read) continue;
    next_read = Steady::now() + options_.reread;
    // Content that was read twice is not the half of a file that is being written.
    if (auto found = net::read_whole_file(options_.file); found && *found != text) {
      if (*found == last) return Waited::kOvertaken;
      last = std::move(*found);
    }
  }
  return stopping_ ? Waited::kInVain : Waited::kHealthy;
}

}  // namespace cardea::authn
