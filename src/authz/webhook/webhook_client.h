#pragma once
#include <chrono>
#include <memory>

#include "authz/webhook/kubeconfig.h"
#include "base/task.h"
#include "json/value.h"
#include "net/dialer.h"
#include "net/loop.h"

namespace cardea::net {
class FileWatch;
}

namespace cardea::authz {

struct WebhookOptions {
  std::chrono::milliseconds timeout{30'000};  // of one try
  // Tries after the first grow apart from `first_wait` by half each, and vary by a fifth.
  int tries = 5;
  std::chrono::milliseconds first_wait{500};
};

// Posts JSON documents to one URL and waits for JSON back.
//
// A call that did not reach the server, and answers that say "later" (429, 500, 504, or any with Retry-After), are tried
// again. What is left is an Error: no answer, a status other than 2xx, or a body that is no JSON. Shared between
// threads; the loop and the dialer outlive it.
class WebhookClient {
 public:
  // With `files` the token is renewed when its file changes.
  static Result<std::shared_ptr<WebhookClient>> make(net::Loop& loop, net::Dialer& dialer, Upstream upstream,
                                                     WebhookOptions options = {}, net::FileWatch* files = nullptr);
  ~WebhookClient();

  // Continues on the loop this was made with.
  Task<Result<json::Value>> post(json::Value document) const;

 private:
  class State;
  explicit WebhookClient(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace cardea::authz
