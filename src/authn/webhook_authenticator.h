#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "authn/authenticator.h"
#include "base/clock.h"
#include "upstream/webhook_client.h"

namespace cardea::authn {

struct TokenWebhookOptions {
  std::string version = "v1beta1";     // of authentication.k8s.io
  std::chrono::seconds ttl{120};       // how long an answer is valid; 0: ask every time
  std::vector<std::string> audiences;  // of this server
};

// Asks another server, by TokenReview, for the user of a token. The answer, yes or no, is
// remembered for the time to live; a failed call is not. A token is valid only for audiences
// that the server asked for: an answer with other audiences is an error; an answer without
// audiences comes from a server that does not know audiences, and counts for this server's.
std::unique_ptr<Authenticator> webhook_authenticator(
    std::shared_ptr<const upstream::WebhookClient> client, TokenWebhookOptions options,
    const Clock& clock);

}  // namespace cardea::authn
