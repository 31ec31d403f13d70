#include "admission/webhook/webhook_feed.h"

#include "admission/unreadable.h"
#include "base/strings.h"
#include "json/parse.h"

namespace cardea::admission {

using json::Value;

namespace {

// In place of a configuration that nobody can read: every request fails, but for those of
// administrators, who can mend it. Webhooks are not asked about configurations of webhooks.
Value failing_webhooks() {
  return Value::array({Value::object({{"name", "this.configuration.cannot.be.read"},
                                      {"failurePolicy", "Fail"},
                                      {"matchPolicy", "Equivalent"},
                                      {"sideEffects", "None"},
                                      {"timeoutSeconds", 1},
                                      {"admissionReviewVersions", Value::array({"v1"})},
                                      {"clientConfig", Value::object({{"url", "unreadable"}})},
                                      {"rules", rules_for_everything()},
                                      {"matchConditions", unless_administrator()}})});
}

}  // namespace

WebhookFold::WebhookFold(bool is_mutating)
    : prefix_(
          cat("/registry/", is_mutating ? "mutating" : "validating", "webhookconfigurations/")) {}

store::Folded WebhookFold::change(std::string_view key, const store::Record*,
                                  const store::Record* after) {
  const std::string name(key.substr(prefix_.size()));
  const auto object = after ? json::parse(after->value()) : Result<Value>(Value());
  if (!after) {
    configurations_.erase(name);
    specs_.erase(name);
    return store::Folded::kChanged;
  }
  const bool is_readable = object && object->is_object();
  // What it said when it could be read still holds.
  if (!is_readable && configurations_.contains(name)) return store::Folded::kUnreadable;
  const Value webhooks = is_readable ? (*object)["webhooks"] : failing_webhooks();
  // Those that did not change keep their connections and what is compiled.
  if (specs_[name] == webhooks && configurations_.contains(name)) return store::Folded::kSame;
  specs_[name] = webhooks;
  WebhookSet::Webhooks made;
  for (std::size_t i = 0; i < webhooks.size(); ++i)
    made.push_back(std::make_shared<const Webhook>(name, i, webhooks[i]));
  configurations_[name] = std::move(made);
  return is_readable ? store::Folded::kChanged : store::Folded::kUnreadable;
}

}  // namespace cardea::admission
