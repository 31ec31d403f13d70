#pragma once
#include <memory>
#include <optional>
#include <string_view>

#include "admission/objects.h"
#include "admission/outside.h"
#include "admission/plugin.h"
#include "admission/webhook/webhook_caller.h"
#include "admission/webhook/webhook_feed.h"
#include "admission/webhook/webhook_invocation.h"
#include "authz/current_chain.h"

namespace cardea::admission {

// The common part of the plugins that call mutating and validating webhooks.
class WebhookPlugin : public Plugin {
 public:
  bool handles(const Review& review) const override;

 protected:
  WebhookPlugin(bool is_mutating, Objects objects, const authz::CurrentChain& chain,
                const Outside& outside, std::unique_ptr<WebhookFeed> feed);

  // Counts a call that failed. Returns the refusal of the request; or nullopt, with an annotation
  // for `place`, if the webhook fails open.
  std::optional<Error> call_failed(const Review& review, const Webhook& hook, const Error& why,
                                   std::string_view place) const;
  // Gives the annotations and warnings of an answer to the request.
  static void pass_on(const Review& review, const Webhook& hook, const WebhookAnswer& answer);

  const bool is_mutating_;
  const Objects objects_;
  const authz::CurrentChain& chain_;
  const WebhookCaller caller_;
  const WebhookCounts counts_;
  const std::unique_ptr<WebhookFeed> feed_;
};

// `P` is a WebhookPlugin, made from everything but `is_mutating`, which it knows itself.
template <typename P>
Result<std::unique_ptr<Plugin>> make_webhook_plugin(Objects objects,
                                                    const authz::CurrentChain& chain,
                                                    const Outside& outside) {
  auto feed = WebhookFeed::start(objects.store(), P::kIsMutating);
  if (!feed) return fail(feed.error());
  return std::make_unique<P>(objects, chain, outside, std::move(*feed));
}

}  // namespace cardea::admission
