#pragma once
#include <string>

#include "base/result.h"
#include "base/task.h"
#include "json/value.h"

namespace cardea::authz {

// Takes a review to the server that answers it. Deciding knows no sockets: the code that makes a
// webhook authorizer gives it a sender.
//
// An error means that there is no answer to read; its reason is kTimeout when none came in time.
// Shared between threads.
class ReviewSender {
 public:
  virtual ~ReviewSender() = default;

  // Waits for the answer, a JSON object, and continues on the loop of the caller. `via`: the value
  // of the header kViaHeader (authz/attributes.h); without it the header is not sent. The same of
  // `traceparent`.
  virtual Task<Result<json::Value>> post(json::Value review, std::string via,
                                         std::string traceparent = {}) const = 0;
};

}  // namespace cardea::authz
