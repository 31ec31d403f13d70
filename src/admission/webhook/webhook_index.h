#pragma once
#include <chrono>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "admission/policy/policy_index.h"
#include "base/snapshot.h"
#include "base/strings.h"
#include "json/value.h"
#include "store/store.h"

namespace cardea::http {
class Client;
}

namespace cardea::admission {

// One webhook of a configuration, ready to be asked. Immutable but for the client, which is made
// when it is first asked.
struct Webhook {
  Webhook(std::string configuration, std::size_t index, const json::Value& spec);
  ~Webhook();

  std::string configuration, name;
  std::string id;  // tells it from every other one
  json::Value spec;
  json::Value match;           // as match_request reads it
  std::string review_version;  // of the reviews it understands the first that we speak; empty: none
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

  // Those that may be about this resource (its plural name); all others cost nothing.
  std::span<const Entry> about(std::string_view resource) const;

 private:
  std::unordered_map<std::string, std::vector<Entry>, StringHash, std::equal_to<>> by_resource_;
  std::vector<Entry> any_;  // those with a wildcard
};

// Follows the configurations in a store. A write is seen by every request that begins after it was
// acknowledged.
class WebhookIndex {
 public:
  static Result<std::unique_ptr<WebhookIndex>> start(store::Store& store, bool mutating);
  const std::shared_ptr<const WebhookSet>& get() const { return current_.get(); }

 private:
  WebhookIndex() : current_(std::make_shared<const WebhookSet>()) {}
  void take(const store::Record& record, bool gone, const std::string& prefix);

  std::mutex mutex_;
  std::unordered_map<std::string, WebhookSet::Webhooks> configurations_;
  std::unordered_map<std::string, json::Value> specs_;  // what the webhooks were made from
  Snapshot<WebhookSet> current_;
  std::unique_ptr<store::Watch> watch_;  // first to go: its sink uses the rest
};

}  // namespace cardea::admission
