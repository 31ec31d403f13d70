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
  std::chrono::seconds ttl{120};       // how long an answer is good; 0: ask every time
  std::vector<std::string> audiences;  // of this server
};

// Asks another server, by TokenReview, whose a token is. What it answers, yes or no, is remembered
// for the time to live; that it could not be asked is not. A token is good only for audiences that
// we asked for: an answer that names others is an error, one that names none comes from a server
// that does not know audiences and speaks of ours.
std::unique_ptr<Authenticator> webhook_authenticator(
    std::shared_ptr<const upstream::WebhookClient> client, TokenWebhookOptions options,
    const Clock& clock);

}  // namespace cardea::authn
