#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "authz/webhook/review_sender.h"
#include "base/random.h"
#include "base/task.h"
#include "json/value.h"
#include "net/dialer.h"
#include "net/loop.h"
#include "upstream/kubeconfig.h"

namespace cardea::net {
class FileWatch;
}

namespace cardea::upstream {

struct WebhookOptions {
  std::chrono::milliseconds timeout{30'000};  // of one try
  // The first wait is `first_wait`, each further wait is half as long again, and varies by a
  // fifth.
  int tries = 5;
  std::chrono::milliseconds first_wait{500};
  std::size_t max_answer = 16u << 20;
  Random* random = nullptr;  // outlives the client; null: the system's
  // Told of each try, on the client's loop: what came of it, and how long it took.
  std::function<void(const Result<json::Value>&, std::chrono::nanoseconds)> tried;
};

// Posts JSON documents to one URL and waits for JSON back.
//
// After a reset connection, and after answers that ask for a later try (429, 500, 504, or any
// with Retry-After), the call is repeated; an unreachable server is not called again. Other
// failures are an Error: no answer (kTimeout when it did not arrive in time), a status other
// than 2xx, or a body that is not a JSON object. Shared between threads; the loop and the
// dialer must outlive it.
class WebhookClient : public authz::ReviewSender {
 public:
  // With `files` the token is renewed when its file changes.
  static Result<std::shared_ptr<WebhookClient>> make(net::Loop& loop, net::Dialer& dialer,
                                                     Endpoint endpoint, WebhookOptions options = {},
                                                     net::FileWatch* files = nullptr);
  ~WebhookClient() override;

  // Continues on the loop it was called from, or on the one this was made with when the caller has
  // none.
  Task<Result<json::Value>> post(json::Value document, std::string via = {},
                                 std::string traceparent = {}) const override;

 private:
  struct State;
  explicit WebhookClient(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace cardea::upstream
