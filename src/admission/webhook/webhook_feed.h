#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "admission/webhook/webhook_set.h"
#include "base/snapshot.h"
#include "store/follow.h"

namespace cardea::admission {

// Webhook configurations of one kind, mutating or validating, as a WebhookSet. One that cannot be
// read has no webhooks.
class WebhookFold {
 public:
  explicit WebhookFold(bool is_mutating);

  std::vector<std::string> prefixes() const { return {prefix_}; }
  store::Folded change(std::string_view key, const store::Record* before,
                       const store::Record* after);
  void publish() { set_.set(std::make_shared<const WebhookSet>(configurations_)); }
  const Snapshot<WebhookSet>& snapshot() const { return set_; }

 private:
  const std::string prefix_;
  std::unordered_map<std::string, WebhookSet::Webhooks> configurations_;
  std::unordered_map<std::string, json::Value> specs_;  // what the webhooks were made from
  Snapshot<WebhookSet> set_{std::make_shared<const WebhookSet>()};
};

// Started with whether it is about the mutating ones.
using WebhookFeed = store::Follower<WebhookFold>;

}  // namespace cardea::admission
