#include "rest/at_rest/kms.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include "base/random.h"
#include "base/strings.h"
#include "rest/at_rest/ciphers.h"

namespace cardea::rest {
namespace {

constexpr std::size_t kSeedBytes = 32;
constexpr std::size_t kMostSecrets = 10'000;

// Everything that the plugin's answer depends on.
std::string identity_of(const SealedObject& object) {
  auto part = [](std::string_view text) { return cat(text.size(), ":", text); };
  std::string out = cat(static_cast<int>(object.source), part(object.key.key_id),
                        part(object.key.ciphertext));
  for (const auto& [name, value] : object.key.annotations) out += cat(part(name), part(value));
  return out;
}

std::string new_uid() {
  SystemRandom random;
  return make_uid(random);
}

}  // namespace

Kms::Kms(std::string name, std::unique_ptr<KmsService> service, Notice notice, KmsTimes times)
    : name_(std::move(name)),
      service_(std::move(service)),
      notice_(std::move(notice)),
      times_(times) {
  ask_now();
  thread_ = std::thread([this] { run(); });
}

Kms::~Kms() {
  {
    std::lock_guard guard(lock_);
    is_stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
  for (auto& [identity, secret] : secrets_) OPENSSL_cleanse(secret.data(), secret.size());
}

void Kms::run() {
  for (;;) {
    {
      std::unique_lock guard(lock_);
      const auto pause = trouble_.empty() ? times_.while_well : times_.while_failing;
      if (wake_.wait_for(guard, pause, [this] { return is_stopping_; })) return;
    }
    ask_now();
  }
}

void Kms::ask_now() {
  std::lock_guard one_at_a_time(asking_);
  const Result<void> well = check();
  std::string trouble = well ? "" : cat("the KMS plugin `", name_, "`: ", well.error().message);
  bool is_new;
  {
    std::lock_guard guard(lock_);
    is_new = trouble != trouble_;
    trouble_ = trouble;
  }
  if (is_new && !trouble.empty() && notice_) notice_(trouble);
}

Result<void> Kms::check() {
  auto status = service_->status();
  if (!status) return fail(status.error());
  if (status->health != "ok")
    return fail(Error::of(Reason::kServiceUnavailable, cat("it is not well: ", status->health)));
  if (status->version != "v2" && status->version != "v2beta1")
    return fail(bad_request(cat("it speaks version `", status->version, "`, not v2")));
  if (version_.empty()) version_ = status->version;
  if (status->version != version_)
    return fail(bad_request(cat("its version changed from ", version_, " to ", status->version)));
  if (auto ok = check_key_id(status->key_id); !ok) return ok;
  return renew(status->key_id);
}

// The seed goes on as long as the plugin has the same key; else there is a new one.
Result<void> Kms::renew(const std::string& key_id) {
  const auto until = std::chrono::steady_clock::now() + times_.key_lifetime;
  auto next = std::make_shared<Seed>();
  {
    std::lock_guard guard(lock_);
    if (current_ && current_->encrypted.key_id == key_id) {
      *next = *current_;
      next->until = until;
      current_ = std::move(next);
      return {};
    }
  }
  next->secret.resize(kSeedBytes);
  if (RAND_bytes(reinterpret_cast<unsigned char*>(next->secret.data()), kSeedBytes) != 1)
    return fail(internal_error("the machine has no random bytes"));
  auto encrypted = service_->encrypt(next->secret, new_uid());
  if (!encrypted) return fail(encrypted.error());
  if (auto ok = check_key(*encrypted); !ok) return ok;
  // Between the two calls it may have got another key: the next question will tell.
  if (encrypted->key_id != key_id)
    return fail(
        Error::of(Reason::kServiceUnavailable, "it encrypts with another key than it says"));
  next->encrypted = std::move(*encrypted);
  next->until = until;
  SealedObject mine{.data = {}, .key = next->encrypted, .source = SealedObject::KeySource::kSeed};
  std::lock_guard guard(lock_);
  secrets_.insert_or_assign(identity_of(mine), next->secret);
  current_ = std::move(next);
  return {};
}

Result<std::string> Kms::seal(std::string_view etcd_key, std::string_view value) const {
  auto no_key = [this](std::string_view why) {
    return fail(Error::of(Reason::kServiceUnavailable,
                          cat("nothing was stored: the value cannot be encrypted: the KMS plugin `",
                              name_, "` ", why)));
  };
  std::shared_ptr<const Seed> seed;
  {
    std::lock_guard guard(lock_);
    seed = current_;
  }
  if (!seed) return no_key("has given no key yet");
  if (std::chrono::steady_clock::now() > seed->until)
    return no_key("has not confirmed its key for too long");
  auto sealed = seal_with_seed(seed->secret, etcd_key, value);
  if (!sealed) return fail(internal_error("the value cannot be encrypted; nothing was stored"));
  return encode({.data = std::move(*sealed),
                 .key = seed->encrypted,
                 .source = SealedObject::KeySource::kSeed});
}

Result<std::string> Kms::secret_of(const SealedObject& object) {
  const std::string identity = identity_of(object);
  {
    std::lock_guard guard(lock_);
    if (auto known = secrets_.find(identity); known != secrets_.end()) return known->second;
  }
  auto secret = service_->decrypt(object.key, new_uid());
  if (!secret) {
    Error error = secret.error();
    error.message = cat("the KMS plugin `", name_, "` does not decrypt its key: ", error.message);
    return fail(std::move(error));
  }
  std::lock_guard guard(lock_);
  if (secrets_.size() >= kMostSecrets) secrets_.clear();
  secrets_.insert_or_assign(identity, *secret);
  return secret;
}

Result<Kms::Opened> Kms::open(std::string_view etcd_key, std::string_view sealed) {
  auto object = decode_sealed(sealed);
  if (!object) return fail(object.error());
  auto secret = secret_of(*object);
  if (!secret) return fail(secret.error());
  const bool is_seed = object->source == SealedObject::KeySource::kSeed;
  std::optional<std::string> value;
  if (is_seed && secret->size() >= kSeedBytes)
    value = unseal_with_seed(*secret, etcd_key, object->data);
  else if (!is_seed && fits_cipher(Cipher::kAesGcm, secret->size()))
    value = unseal(Cipher::kAesGcm, *secret, etcd_key, object->data);
  if (!value) return fail(bad_request("its data key does not open it"));
  return Opened{std::move(*value), is_seed ? std::move(object->key.key_id) : ""};
}

std::string Kms::key_id() const {
  std::lock_guard guard(lock_);
  return current_ ? current_->encrypted.key_id : "";
}

std::string Kms::trouble() const {
  std::lock_guard guard(lock_);
  return trouble_;
}

}  // namespace cardea::rest
