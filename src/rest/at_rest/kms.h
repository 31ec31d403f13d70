#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "rest/at_rest/sealed_object.h"

namespace cardea::rest {

// How often a plugin is asked for its state, and how long its last word counts. As kube-apiserver.
struct KmsTimes {
  std::chrono::milliseconds while_well{60'000};
  std::chrono::milliseconds while_failing{10'000};
  std::chrono::milliseconds key_lifetime{180'000};
};

// Encrypts values by keys that a KMS plugin keeps: a provider `kms` with the version v2.
//
// Values are encrypted here, each with a key of its own, which comes from a random seed. The plugin
// encrypts the seed, and the result lies beside the value. A seed is used until the plugin names
// another key, and is never stored. When the plugin has not confirmed its key for `key_lifetime`,
// nothing is encrypted any more.
//
// Any thread. `seal` does not wait. `open` waits for the plugin where it meets a seed for the first
// time. A thread of its own asks the plugin how it is.
class Kms {
 public:
  using Notice = std::function<void(const std::string&)>;

  // Asks the plugin once before it returns, whatever it answers: it may start later. `notice` gets
  // what goes wrong, once for each trouble.
  Kms(std::string name, std::unique_ptr<KmsService> service, Notice notice, KmsTimes times = {});
  ~Kms();
  Kms(const Kms&) = delete;
  Kms& operator=(const Kms&) = delete;

  // `etcd_key` is bound to the value. kServiceUnavailable: there is no key that may be used now.
  Result<std::string> seal(std::string_view etcd_key, std::string_view value) const;

  struct Opened {
    std::string value;
    std::string key_id;  // of the plugin's key; empty where the value is not sealed as it is today
  };
  // kServiceUnavailable: the plugin does not answer now. Any other error: nobody opens it.
  Result<Opened> open(std::string_view etcd_key, std::string_view sealed);

  std::string key_id() const;   // that values are sealed with now; empty: none yet
  std::string trouble() const;  // empty: the plugin is well
  void ask_now();               // for its state; waits for the answer

 private:
  struct Seed {
    std::string secret;
    KmsService::Encrypted encrypted;
    std::chrono::steady_clock::time_point until;
  };

  void run();
  Result<void> check();
  Result<void> renew(const std::string& key_id);
  Result<std::string> secret_of(const SealedObject& object);

  const std::string name_;
  const std::unique_ptr<KmsService> service_;
  const Notice notice_;
  const KmsTimes times_;

  std::mutex asking_;  // one question about the state at a time
  std::string version_;

  mutable std::mutex lock_;
  std::condition_variable wake_;
  std::shared_ptr<const Seed> current_;                   // null: none yet
  std::unordered_map<std::string, std::string> secrets_;  // by what identifies them
  std::string trouble_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace cardea::rest
