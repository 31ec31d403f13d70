#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admission/policy/policy_run.h"
#include "base/result.h"
#include "http/client.h"
#include "json/value.h"

// AdmissionReviews as they are sent and read. Pure functions.
namespace cardea::admission {

// The document in a webhook's answer. An error is why there is none, in the words of Go's client.
Result<json::Value> document_in(const http::Answer& answer);

// The review that asks a webhook about a request; `version` is v1 or v1beta1.
json::Value admission_review(std::string_view version, std::string_view uid,
                             const PolicyInput& input);

// What a webhook decided.
struct WebhookAnswer {
  bool is_allowed = false;
  json::Value status;      // of a refusal, perhaps
  json::Value operations;  // of a JSON patch; null when there is none
  std::vector<std::string> warnings;
  std::vector<std::pair<std::string, std::string>> annotations;
};

// An error means that the answer is not a decision, in the words of Kubernetes; then the
// failure policy decides.
Result<WebhookAnswer> read_webhook_answer(const http::Answer& answer, std::string_view version,
                                          std::string_view uid, bool is_mutating);

// The Status of a webhook's refusal; it never says success and never has a code below 400.
json::Value refusal_status(std::string_view webhook, const json::Value& status);

// The text of Go's client for a failed call: `Post "https: …": connection refused`.
std::string call_failure(const Error& error, std::string_view url, std::string_view address);

}  // namespace cardea::admission
