#include "admission/webhook/webhook_feed.h"

#include "base/strings.h"
#include "json/parse.h"

namespace cardea::admission {

using json::Value;

WebhookFold::WebhookFold(bool is_mutating)
    : prefix_(
          cat("/registry/", is_mutating ? "mutating" : "validating", "webhookconfigurations/")) {}

store::Folded WebhookFold::change(std::string_view key, const store::Record*,
                                  const store::Record* after) {
  const std::string name(key.substr(prefix_.size()));
  const auto object = after ? json::parse(after->value()) : Result<Value>(Value());
  if (!after || !object) {
    configurations_.erase(name);
    specs_.erase(name);
    return object ? store::Folded::kChanged : store::Folded::kUnreadable;
  }
  const Value& webhooks = (*object)["webhooks"];
  // Those that did not change keep their connections and what is compiled.
  if (specs_[name] == webhooks && configurations_.contains(name)) return store::Folded::kSame;
  specs_[name] = webhooks;
  WebhookSet::Webhooks made;
  for (std::size_t i = 0; i < webhooks.size(); ++i)
    made.push_back(std::make_shared<const Webhook>(name, i, webhooks[i]));
  configurations_[name] = std::move(made);
  return store::Folded::kChanged;
}

}  // namespace cardea::admission
