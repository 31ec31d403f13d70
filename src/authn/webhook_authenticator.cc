#include "authn/webhook_authenticator.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>

#include "authn/jwt/jwt.h"
#include "authz/user_info.h"
#include "base/strings.h"

namespace cardea::authn {
namespace {

using json::Value;

constexpr std::size_t kMaxRemembered = 10'000;

Value list(const std::vector<std::string>& texts) {
  Value out = Value::array();
  for (const std::string& t : texts) out.push_back(t);
  return out;
}

std::vector<std::string> texts(const Value& list) {
  std::vector<std::string> out;
  for (const Value& one : list.items()) out.emplace_back(one.as_string());
  return out;
}

bool is_texts(const Value& list) {
  return list.is_null() ||
         (list.is_array() && std::ranges::all_of(list.items(), &Value::is_string));
}
bool is_text(const Value& v) {
  return v.is_null() || v.is_string();
}

// Which field of an answer is of another type than it should be; empty when none is. It would read
// as empty: as no error, or as a user without the groups that something is denied to.
std::string misshapen_field(const Value& status) {
  if (!status.is_null() && !status.is_object()) return "status";
  if (const Value& v = status["authenticated"]; !v.is_null() && !v.is_bool())
    return "status.authenticated";
  if (!is_text(status["error"])) return "status.error";
  if (!is_texts(status["audiences"])) return "status.audiences";
  const std::vector<authz::UserInfoMisfit> wrong = authz::misfits(status["user"]);
  if (wrong.empty()) return "";
  return cat("status.user", wrong[0].member.empty() ? "" : ".", wrong[0].member);
}

// Answers of the webhook by token and audiences, neither of which is kept in the clear. Shared
// between threads.
class Answers {
 public:
  Answers() { RAND_bytes(secret_.data(), static_cast<int>(secret_.size())); }

  std::string key_of(std::string_view token, const std::vector<std::string>& audiences) const {
    std::string text(token);
    for (const std::string& a : audiences) text += cat('\0', a);
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    HMAC(EVP_sha256(), secret_.data(), static_cast<int>(secret_.size()),
         reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest, &size);
    return std::string(reinterpret_cast<char*>(digest), size);
  }

  std::optional<Outcome> find(const std::string& key,
                              std::chrono::system_clock::time_point now) const {
    std::lock_guard lock(mutex_);
    auto found = known_.find(key);
    if (found == known_.end() || found->second.until <= now) return std::nullopt;
    return found->second.outcome;
  }

  void keep(const std::string& key, Outcome outcome, std::chrono::system_clock::time_point now,
            std::chrono::seconds ttl) {
    std::lock_guard lock(mutex_);
    if (known_.size() >= kMaxRemembered)
      std::erase_if(known_, [now](const auto& entry) { return entry.second.until <= now; });
    if (known_.size() >= kMaxRemembered) known_.clear();
    known_[key] = {std::move(outcome), now + ttl};
  }

 private:
  struct Answer {
    Outcome outcome;
    std::chrono::system_clock::time_point until;
  };
  std::array<unsigned char, 32> secret_{};
  mutable std::mutex mutex_;
  std::map<std::string, Answer> known_;
};

class WebhookAuthenticator : public Authenticator {
 public:
  WebhookAuthenticator(std::shared_ptr<const upstream::WebhookClient> client,
                       TokenWebhookOptions options, const Clock& clock)
      : client_(std::move(client)), options_(std::move(options)), clock_(clock) {}

  std::optional<Outcome> authenticate(const Credentials& c) const override {
    if (c.token.empty() || c.token.size() > kMaxTokenBytes)
      return Outcome(std::optional<Identity>());
    return answers_.find(answers_.key_of(c.token, asked(c)), clock_.now());
  }

  Task<Outcome> authenticate_waiting(Credentials c) const override {
    std::vector<std::string> audiences = asked(c);
    std::string key = answers_.key_of(c.token, audiences);
    Value review = Value::object(
        {{"apiVersion", "authentication.k8s.io/" + options_.version},
         {"kind", "TokenReview"},
         {"metadata", Value::object()},
         {"spec", Value::object({{"token", c.token}, {"audiences", list(audiences)}})},
         {"status", Value::object({{"user", Value::object()}})}});
    Result<Value> answer = co_await client_->post(std::move(review));
    if (!answer)
      co_return fail(Error::of(Reason::kUnauthorized,
                               cat("the token webhook did not answer: ", answer.error().message)));
    Outcome outcome = read(*answer, audiences);
    if (outcome && options_.ttl.count() > 0)
      answers_.keep(key, outcome, clock_.now(), options_.ttl);
    co_return outcome;
  }

 private:
  const std::vector<std::string>& asked(const Credentials& c) const {
    return c.audiences ? *c.audiences : options_.audiences;
  }

  Outcome read(const Value& answer, const std::vector<std::string>& asked_for) const {
    auto refuse = [](std::string why) {
      return fail(Error::of(Reason::kUnauthorized, std::move(why)));
    };
    if (answer["apiVersion"].as_string() != "authentication.k8s.io/" + options_.version ||
        answer["kind"].as_string() != "TokenReview")
      return refuse(
          "the token webhook did not answer with a TokenReview of the version it was asked in");
    const Value& status = answer["status"];
    if (std::string field = misshapen_field(status); !field.empty())
      return refuse(cat("the token webhook's answer is malformed: ", field, " is of another type"));
    // An error means that the token could not be checked, whatever else the answer says.
    if (std::string_view error = status["error"].as_string(); !error.empty())
      return refuse(std::string(error));
    if (!status["authenticated"].as_bool()) return std::optional<Identity>();
    Identity identity{.authenticator = "webhook"};
    identity.user = authz::read_user_info(status["user"]);
    if (identity.user.name.empty()) return refuse("the token webhook names no user");
    if (auto id = identity.user.extra.find(std::string(kCredentialIdExtra));
        id != identity.user.extra.end() && !id->second.empty())
      identity.credential_id = id->second[0];
    if (!status["audiences"].empty()) {
      for (std::string& a : texts(status["audiences"]))
        if (std::ranges::find(asked_for, a) != asked_for.end())
          identity.audiences.push_back(std::move(a));
      if (identity.audiences.empty())
        return refuse("the token webhook answered for audiences it was not asked about");
    } else {
      for (const std::string& a : asked_for)
        if (std::ranges::find(options_.audiences, a) != options_.audiences.end())
          identity.audiences.push_back(a);
      if (identity.audiences.empty()) return std::optional<Identity>();
    }
    return identity;
  }

  std::shared_ptr<const upstream::WebhookClient> client_;
  TokenWebhookOptions options_;
  const Clock& clock_;
  mutable Answers answers_;
};

}  // namespace

std::unique_ptr<Authenticator> webhook_authenticator(
    std::shared_ptr<const upstream::WebhookClient> client, TokenWebhookOptions options,
    const Clock& clock) {
  return std::make_unique<WebhookAuthenticator>(std::move(client), std::move(options), clock);
}

}  // namespace cardea::authn
