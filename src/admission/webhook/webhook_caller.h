#pragma once
#include <memory>
#include <string>
#include <vector>

#include "admission/objects.h"
#include "admission/outside.h"
#include "admission/webhook/webhook_review.h"
#include "admission/webhook/webhook_set.h"
#include "base/task.h"

namespace cardea::admission {

// Sends reviews to webhooks and waits for their answers. Shared between threads.
class WebhookCaller {
 public:
  WebhookCaller(Objects objects, Outside outside) : objects_(objects), outside_(outside) {}

  struct Question {
    std::shared_ptr<const Webhook> hook;
    const PolicyInput* input;  // until the answers have arrived
    Operation operation;
  };
  // Asks all at the same time. The answers come in the order of the questions, on the loop of the
  // review, or on the one calls are made on when it has none. An error is what failed, in the words
  // that follow `failed calling webhook "x": `.
  Task<std::vector<Result<WebhookAnswer>>> ask(std::vector<Question> questions,
                                               const Review& review, bool is_mutating) const;

 private:
  struct Prepared {
    std::shared_ptr<http::Client> client;
    http::Call call;
    std::string uid, url, address;
  };
  Result<Prepared> prepare(const Question& question, const Review& review) const;
  Result<std::shared_ptr<http::Client>> client_of(const Webhook& hook) const;

  Objects objects_;
  Outside outside_;
};

}  // namespace cardea::admission
