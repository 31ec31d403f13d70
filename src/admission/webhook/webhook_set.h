#pragma once
#include <chrono>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "admission/policy/policy_set.h"
#include "base/strings.h"
#include "json/value.h"

namespace cardea::http {
class Client;
}

namespace cardea::admission {

// One webhook of a configuration, ready for calls. Immutable except for the client, which is
// made at the first call.
struct Webhook {
  Webhook(std::string configuration, std::size_t index, const json::Value& spec);
  ~Webhook();

  std::string configuration, name;
  std::string id;  // tells it from every other one
  json::Value spec;
  json::Value match;           // as match_request reads it
  std::string review_version;  // the first review version in its list that the server supports;
                               // empty: none
  bool fails_open = false;
  bool is_reinvocable = false;
  bool is_safe_on_dry_run = false;
  std::chrono::seconds timeout;
  Policy conditions;  // its match conditions, as those of a policy

  // Connections are kept from one review to the next. Any thread.
  mutable std::mutex mutex;
  mutable std::shared_ptr<http::Client> client;
};

// All webhooks of one kind at one moment, in the order they are asked: by configuration, then as
// listed. Immutable.
class WebhookSet {
 public:
  using Webhooks = std::vector<std::shared_ptr<const Webhook>>;
  struct Entry {
    std::shared_ptr<const Webhook> hook;
    std::size_t ordinal;  // among all
  };
  explicit WebhookSet(const std::unordered_map<std::string, Webhooks>& configurations = {});

  // The webhooks that may be about this resource (its plural name); all others cost nothing.
  std::span<const Entry> about(std::string_view resource) const;

 private:
  std::unordered_map<std::string, std::vector<Entry>, StringHash, std::equal_to<>> by_resource_;
  std::vector<Entry> any_;  // those with a wildcard
};

}  // namespace cardea::admission
